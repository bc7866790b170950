import HirobaHTTP
import Testing

@Suite struct HTTP2SessionTests {
    @Test("a request that comes while answers are stuck in the socket is answered after them")
    func stuckOutput() async throws {
        let written = Counter()
        let piece = [UInt8](repeating: 120, count: 64 * 1024)
        let server = try HTTPServer(configuration: HTTPServerConfiguration(port: 0, loops: 1)) { request in
            guard request.path == "/long" else { return await echo(request) }
            return HTTPResponse(
                body: .stream { writer in
                    for _ in 0..<512 {
                        try await writer.write(piece)
                        written.add(piece.count)
                    }
                })
        }
        let port = try await server.start().port
        // Windows so wide that only the socket holds the answer back.
        let client = try await HTTP2Client(port: port, settings: [(4, 0x7fff_ffff)])
        try await client.send(.windowUpdate(0, 0x7000_0000))
        // Any other frame of the client would make the server look at its input again.
        client.returnsWindow = false
        try await client.request(1, "GET", "/long")
        var last = -1
        // Nothing was written for a while: the socket is full.
        _ = await eventually {
            defer { last = written.value }
            return written.value > 0 && written.value == last
        }
        try await client.request(3, "GET", "/short")
        #expect(written.value < 512 * piece.count, "the answer must not fit into the socket")
        let answers = [try await client.answer(), try await client.answer()]
        #expect(Set(answers.map(\.body.count)) == [512 * piece.count, "GET /short ".utf8.count])
        await server.stop(grace: .zero)
    }
}
