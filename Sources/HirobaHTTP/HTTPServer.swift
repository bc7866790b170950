package final class HTTPServer: HTTPServerEngine {
    package init(configuration: HTTPServerConfiguration, handler: @escaping HTTPHandler) throws {
        throw HTTPServerError("not built yet")
    }
    package func start() async throws -> SocketAddress { throw HTTPServerError("not built yet") }
    package func reloadCertificates() throws {}
    package func stop(grace: Duration) async {}
}
