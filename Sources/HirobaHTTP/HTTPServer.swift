import Glibc
import HirobaThreads

/// Our own web server: HTTP/1.1 and HTTP/2, in the clear or under TLS, on event loops of its own.
///
/// How a request travels can be read by opening the files in this order: `Listener`, `EventLoop`, `Connection`,
/// `HTTP1Reader` or `HTTP2Session`, `HTTPRequest`, `Routes`, `HTTPResponse`, `HTTP1Writer`.
///
/// A server that was started runs until it is told to stop; letting go of it does not end it.
package final class HTTPServer: HTTPServerEngine {
    private struct State {
        var loops: [EventLoop] = []
        var listeners: [Listener] = []
        var endedLoops = 0
    }

    private let configuration: HTTPServerConfiguration
    private let server: ServerState
    private let state = Lock(State())

    package init(configuration: HTTPServerConfiguration, handler: @escaping HTTPHandler) throws {
        self.configuration = configuration
        server = try ServerState(configuration, handler: handler)
    }

    /// An address that is ours before there is anything to answer with: whoever connects waits.
    package final class Place: Sendable {
        package let address: SocketAddress
        private let sockets: Lock<[CInt]>

        package init(host: String, port: Int) throws {
            let (sockets, address) = try SocketAddress.listen(host: host, port: port)
            self.address = address
            self.sockets = Lock(sockets)
        }

        deinit { for socket in take() { close(socket) } }

        fileprivate func take() -> [CInt] {
            sockets.withLock { sockets in
                defer { sockets = [] }
                return sockets
            }
        }
    }

    package func start() async throws -> SocketAddress {
        try await start(at: Place(host: configuration.host, port: configuration.port))
    }

    /// `start` at an address that was taken before.
    package func start(at place: Place) async throws -> SocketAddress {
        // A client that is gone must be an error of the write, not a signal; OpenSSL writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        let (sockets, address) = (place.take(), place.address)
        let loops: [EventLoop]
        do {
            loops = try (0..<max(1, configuration.loops)).map { _ in try EventLoop() }
        } catch {
            for socket in sockets { close(socket) }
            throw error
        }
        for (index, loop) in loops.enumerated() { loop.start(name: "http-\(index)") }
        let listeners = sockets.map { Listener(descriptor: $0, loops: loops, server: server) }
        for listener in listeners { loops[0].execute { listener.start() } }
        state.withLock { state in
            state.loops = loops
            state.listeners = listeners
        }
        return address
    }

    /// How many are open now; of HTTP/2 the connections are counted, not their streams.
    package var connections: Int { server.addresses.count }

    package func reloadCertificates() throws {
        guard let files = configuration.tls else { return }
        server.replaceTLSContext(try TLSContext(files, speaksHTTP2Only: configuration.speaksHTTP2Only))
    }

    package func stop(grace: Duration) async {
        let (loops, listeners) = state.withLock { state in
            defer { state.listeners = [] }
            return (state.loops, state.listeners)
        }
        server.isStopping = true
        for listener in listeners { loops[0].execute { listener.close() } }
        for loop in loops {
            loop.execute { loop.forEachConnection { connection in connection.assumeIsolated { $0.beginStopping() } } }
            loop.stop { [self] in state.withLock { $0.endedLoops += 1 } }
        }
        if await haveEnded(loops.count, within: grace) { return }
        for loop in loops {
            loop.execute { loop.forEachConnection { connection in connection.assumeIsolated { $0.close() } } }
        }
        // The connections are gone; a handler that does not listen to its cancellation is not waited for.
        _ = await haveEnded(loops.count, within: .seconds(1))
    }

    private func haveEnded(_ count: Int, within time: Duration) async -> Bool {
        let deadline = ContinuousClock.now + time
        while state.withLock({ $0.endedLoops < count }) {
            guard ContinuousClock.now < deadline else { return false }
            // Cancelled means that the caller has no more patience.
            do { try await Task.sleep(for: .milliseconds(5)) } catch { return false }
        }
        return true
    }
}
