import CLinux
import Glibc
import HirobaThreads
import Synchronization

/// Accepts connections on one loop and deals them out to all.
final class Listener: @unchecked Sendable {
    // Unchecked because everything is touched on its loop's thread only, after `init`.

    private let descriptor: CInt
    private let loop: EventLoop
    private let loops: [EventLoop]
    private let server: ServerState
    private var token: UInt64?
    private var isClosed = false
    /// Given up for a moment when there are no descriptors left, to tell one client so.
    private var reserve: CInt

    init(descriptor: CInt, loops: [EventLoop], server: ServerState) {
        self.descriptor = descriptor
        self.loop = loops[0]
        self.loops = loops
        self.server = server
        reserve = Self.openReserve()
    }

    private static func openReserve() -> CInt { clinux_open("/dev/null", O_RDONLY | O_CLOEXEC, 0) }

    /// Runs on the loop.
    func start() {
        guard !isClosed, token == nil else { return }
        token = loop.add(self, descriptor: descriptor)
    }

    /// Runs on the loop.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        if let token { loop.removeListener(token, descriptor: descriptor) }
        token = nil
        // A child process that is just being started may still hold the socket; this ends it for everyone.
        shutdown(descriptor, CInt(SHUT_RDWR))
        _ = Glibc.close(descriptor)
        if reserve >= 0 { _ = Glibc.close(reserve) }
    }

    func ready() {
        // Level-triggered: what is left after a batch is reported again, so that accepting starves nobody.
        for _ in 0..<64 where !isClosed {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let socket = withUnsafeMutablePointer(to: &storage) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { clinux_accept(descriptor, $0, &length) }
            }
            if socket >= 0 {
                welcome(socket, from: storage)
                continue
            }
            switch errno {
            // The client has gone again before it was its turn.
            case ECONNABORTED, EINTR: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: standBack()
            default: break
            }
            return
        }
    }

    private func welcome(_ socket: CInt, from storage: sockaddr_storage) {
        let (address, bytes) = SocketAddress.parse(storage)
        let network = AddressBook.network(of: address, bytes: bytes)
        let admission = server.addresses.admit(network)
        if case .ignored = admission {
            _ = Glibc.close(socket)
            return
        }
        // Answers are written whole; waiting for more would only delay the last packet.
        var on: CInt = 1
        setsockopt(socket, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        let isRefused = if case .refused = admission { true } else { false }
        if isRefused { server.observe(.refused(.serviceUnavailable, reason: "too many connections", peer: address)) }
        let loop = nextLoop()
        loop.clients.wrappingAdd(1, ordering: .relaxed)
        let (server, context) = (server, server.tlsContext)
        let start: @Sendable () -> Void = {
            guard loop.isOnLoop else {
                // The server stops, and this loop was done before the listener was closed.
                server.addresses.leave(network, wasRefused: isRefused)
                loop.clients.wrappingSubtract(1, ordering: .relaxed)
                _ = Glibc.close(socket)
                return
            }
            let connection = Connection(
                socket: socket, peer: address, network: network, isRefused: isRefused, tls: context, loop: loop,
                server: server)
            connection.assumeIsolated { $0.start() }
        }
        if loop.isOnLoop { start() } else { loop.execute(start) }
    }

    /// The emptiest loop; but the listener's own while it has only a few more. A loop that is awake serves another connection
    /// more cheaply than one that must be woken for it.
    private func nextLoop() -> EventLoop {
        var (best, fewest) = (loop, loop.clients.load(ordering: .relaxed) - Self.preference)
        for other in loops {
            let count = other.clients.load(ordering: .relaxed)
            if count < fewest { (best, fewest) = (other, count) }
        }
        return best
    }

    private static let preference = 4

    /// No descriptors: tells the first client in the queue so with the one kept in reserve, then lets the others wait a
    /// moment. Without that the loop would turn and turn, because the queue stays readable.
    private func standBack() {
        server.observe(.fault("no file descriptors left for another connection"))
        if reserve >= 0 {
            _ = Glibc.close(reserve)
            let socket = clinux_accept(descriptor, nil, nil)
            if socket >= 0 {
                if server.tlsContext == nil {
                    let answer = Array(HTTP1Writer.busyAnswer)
                    _ = Glibc.send(socket, answer, answer.count, CInt(MSG_NOSIGNAL))
                    shutdown(socket, CInt(SHUT_WR))
                }
                _ = Glibc.close(socket)
            }
            reserve = Self.openReserve()
        }
        guard let token else { return }
        loop.unwatch(descriptor)
        loop.setTimer(token, at: loop.now + 200)
    }

    func timerFired() {
        guard !isClosed, let token else { return }
        if reserve < 0 { reserve = Self.openReserve() }
        if !loop.watch(descriptor, EPOLLIN.rawValue, token) { loop.setTimer(token, at: loop.now + 200) }
    }
}
