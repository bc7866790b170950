import Glibc
import Synchronization
import Testing

@testable import HirobaHTTP

private func openDescriptors() -> Int { (0..<4096).count { fcntl($0, F_GETFD) >= 0 } }

@Suite struct ListenerTests {
    @Test("connections end before file descriptors do, and with a word")
    func fewDescriptors() async {
        await #expect(processExitsWith: .success) {
            // What other tests have open must not come along: it would use the limit up, and then Swift's runtime traps.
            guard openDescriptors() < 64 else { exit(1) }
            var limit = rlimit(rlim_cur: 256, rlim_max: 256)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let server = try HTTPServer(configuration: HTTPServerConfiguration(port: 0, loops: 1), handler: echo)
            let port = try await server.start().port
            var served: [RawConnection] = []
            for _ in 0..<64 {
                let connection = try RawConnection(port: port)
                try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                guard try await connection.answer().status == 200 else { exit(2) }
                served.append(connection)
            }
            let refused = try RawConnection(port: port)
            guard try await refused.answer().status == 503 else { exit(3) }
            await served.removeLast().close()
            let isServedAgain = try await eventually {
                let connection = try RawConnection(port: port)
                try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                return try await connection.answer().status == 200
            }
            guard isServedAgain else { exit(4) }
            await server.stop(grace: .zero)
        }
    }

    @Test("a connection that comes during a stop, for a loop that has ended already, is closed")
    func endedLoop() async throws {
        let server = try ServerState(HTTPServerConfiguration(port: 0), handler: echo)
        let (sockets, address) = try SocketAddress.listen(host: "127.0.0.1", port: 0)
        let loops = try [EventLoop(), EventLoop()]
        for loop in loops { loop.start(name: "test-loop") }
        let listener = Listener(descriptor: try #require(sockets.first), loops: loops, server: server)
        loops[0].execute { listener.start() }
        await withCheckedContinuation { continuation in loops[1].stop { continuation.resume() } }

        // A few go to the listener's own loop before the other one has its first.
        var early: [RawConnection] = []
        for _ in 0..<5 {
            let connection = try RawConnection(port: address.port)
            try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.answer().status == 200)
            early.append(connection)
        }
        let late = try RawConnection(port: address.port)
        #expect(try await late.isClosed())
        #expect(server.addresses.count == 5)

        loops[0].execute { listener.close() }
        for connection in early { await connection.close() }
        await withCheckedContinuation { continuation in loops[0].stop { continuation.resume() } }
    }

    @Test("a few connections share a loop, many are spread over all")
    func dealing() async throws {
        let server = try ServerState(HTTPServerConfiguration(port: 0), handler: echo)
        let (sockets, address) = try SocketAddress.listen(host: "127.0.0.1", port: 0)
        let loops = try [EventLoop(), EventLoop(), EventLoop()]
        for loop in loops { loop.start(name: "test-loop") }
        let listener = Listener(descriptor: try #require(sockets.first), loops: loops, server: server)
        loops[0].execute { listener.start() }
        func counts() -> [Int] { loops.map { $0.clients.load(ordering: .relaxed) } }

        var open: [RawConnection] = []
        for number in 1...25 {
            let connection = try RawConnection(port: address.port)
            try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.answer().status == 200)
            open.append(connection)
            if number == 4 { #expect(counts() == [4, 0, 0]) }
        }
        #expect(counts().reduce(0, +) == 25)
        #expect(counts().dropFirst().allSatisfy { (6...8).contains($0) }, "\(counts())")

        loops[0].execute { listener.close() }
        for connection in open { await connection.close() }
        #expect(await eventually { counts() == [0, 0, 0] })
        for loop in loops { await withCheckedContinuation { continuation in loop.stop { continuation.resume() } } }
    }

    @Test("a port that is taken, and a host that is not there, are told at the start")
    func cannotListen() async throws {
        let server = try HTTPServer(configuration: HTTPServerConfiguration(port: 0, loops: 1), handler: echo)
        let port = try await server.start().port
        for (host, port) in [("127.0.0.1", port), ("no-such-host.invalid", 0), ("192.0.2.1", 0)] {
            let other = try HTTPServer(configuration: .init(host: host, port: port, loops: 1), handler: echo)
            await #expect(throws: HTTPServerError.self) { try await other.start() }
        }
        await server.stop(grace: .zero)
    }

    @Test("the unspecified IPv6 address takes IPv4 too, and tells IPv4 callers as such", .enabled(if: hasIPv6()))
    func bothFamilies() async throws {
        let server = try HTTPServer(configuration: .init(host: "::", port: 0, loops: 1)) { text($0.peer.ip) }
        let address = try await server.start()
        #expect(address.isIPv6)
        let connection = try RawConnection(port: address.port)
        try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try await connection.answer().text == "127.0.0.1")
        await server.stop(grace: .zero)
    }

    private static func hasIPv6() -> Bool {
        let descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
            }
        }
    }
}
