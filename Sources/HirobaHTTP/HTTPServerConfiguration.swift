/// Everything a server is told before it starts.
package struct HTTPServerConfiguration: Sendable {
    /// Certificate chain and key in PEM files. `reloadCertificates()` reads them again.
    package struct TLSFiles: Sendable, Hashable {
        package var certificate: String
        package var key: String
        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// What a server tells about itself besides its answers.
    package enum Event: Sendable {
        /// A request was refused by the engine, before any handler saw it.
        case refused(HTTPStatus, reason: String, peer: SocketAddress)
        /// Something is wrong on our side: a file that cannot be sent, a stream that threw, no file descriptors left.
        case fault(String)
    }

    /// An address or a name; a name is bound in every address it has. `::` takes IPv4 too.
    package var host: String
    /// 0 takes any free port; `start()` tells which.
    package var port: Int
    /// `nil` speaks HTTP/1.1 and HTTP/2 in the clear, both on the same port.
    package var tls: TLSFiles?
    /// Event loops, each a thread. More than cores is of no use.
    package var loops: Int
    package var limits: HTTPLimits
    /// The Server field; `nil` sends none.
    package var serverName: String?
    /// Refuses TLS clients that do not choose `h2` (ALPN) in the handshake.
    package var speaksHTTP2Only = false
    /// How many streams a client of HTTP/2 may open at first, if that is less than `HTTPLimits.streamsPerConnection`.
    /// `HTTPConnection.setStreamLimit` moves it.
    package var firstStreamLimit: Int?
    /// Called on a loop when an HTTP/2 connection that brought a request is gone; it must not block.
    package var connectionClosed: @Sendable (HTTPConnection) -> Void = { _ in }
    /// Called on a loop; it must not block.
    package var observe: @Sendable (Event) -> Void

    package init(
        host: String = "127.0.0.1", port: Int = 8080, tls: TLSFiles? = nil, loops: Int = 2,
        limits: HTTPLimits = HTTPLimits(), serverName: String? = "Hiroba",
        observe: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.loops = loops
        self.limits = limits
        self.serverName = serverName
        self.observe = observe
    }
}
