/// What the rest of the program knows of a web server. The conformance tests are written against this, so that another
/// engine can be put in its place.
package protocol HTTPServerEngine: Sendable {
    /// - Throws: `HTTPServerError` when the certificate or the key cannot be used.
    init(configuration: HTTPServerConfiguration, handler: @escaping HTTPHandler) throws

    /// Binds and begins to serve.
    /// - Returns: the address it listens on.
    func start() async throws -> SocketAddress

    /// Reads certificate and key again; new connections get the new ones. On an error the old ones stay in use.
    func reloadCertificates() throws

    /// Accepts nobody any more, ends endless streams, lets requests in the making finish for `grace`, then cuts what is
    /// left. Returns when every connection is closed.
    func stop(grace: Duration) async
}

/// Why a server did not start.
package struct HTTPServerError: Error, Sendable, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}
