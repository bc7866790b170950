import Foundation
import HirobaHTTP
import HirobaJSON
import Testing

@testable import HirobaClient

/// A request as the server saw it.
struct SeenRequest: Sendable {
    var method: String
    var target: String
    var headers: HTTPHeaders
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// A real server on a port of its own that answers as the test says and remembers what it was asked.
final class TestServer: Sendable {
    private let server: HTTPServer
    private let log: Locked<[SeenRequest]>
    let url: URL

    private init(server: HTTPServer, log: Locked<[SeenRequest]>, url: URL) {
        self.server = server
        self.log = log
        self.url = url
    }

    /// Runs a test against a server that lives as long as the test.
    static func run(
        _ answer: @escaping @Sendable (SeenRequest, Int) async -> HTTPResponse,
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let log = Locked<[SeenRequest]>([])
        let server = try HTTPServer(configuration: HTTPServerConfiguration(port: 0, loops: 1)) { request in
            let bytes = (try? await request.body.collect(upTo: 64 << 20)) ?? []
            let seen = SeenRequest(
                method: request.method.rawValue, target: request.target, headers: request.headers, body: bytes)
            let number = log.withLock {
                $0.append(seen)
                return $0.count
            }
            return await answer(seen, number)
        }
        let address = try await server.start()
        let url = try #require(URL(string: "http://127.0.0.1:\(address.port)"))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(TestServer(server: server, log: log, url: url)))
        } catch {
            result = .failure(error)
        }
        await server.stop(grace: .milliseconds(100))
        try result.get()
    }

    /// What it was asked so far.
    var requests: [SeenRequest] { log.withLock { $0 } }

    func stop() async { await server.stop(grace: .milliseconds(100)) }
}

extension HTTPResponse {
    static func json(_ text: String) -> HTTPResponse { json(.ok, text) }
    static func json(_ value: some Encodable) -> HTTPResponse { json(.ok, value) }

    static func json(_ status: HTTPStatus, _ text: String) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
    }

    static func json(_ status: HTTPStatus, _ value: some Encodable) -> HTTPResponse {
        guard let bytes = try? JSONCoding.encode(value) else { return .text(.internalServerError, "no JSON") }
        return HTTPResponse(status, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
    }

    /// Sends a little and then cuts the connection.
    static let lost = HTTPResponse(
        .ok, headers: ["Content-Type": "application/json"],
        body: .stream { writer in
            try await writer.write(Array("{".utf8))
            throw CancellationError()
        })
}

/// An address where nobody listens: a server had the port until just now.
func addressWithoutServer() async throws -> URL {
    var url: URL?
    try await TestServer.run({ _, _ in .json("{}") }) { url = $0.url }
    return try #require(url)
}

/// A folder of its own that is gone after the test.
func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hiroba-client-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}

/// Waits until something is so, or fails after ten seconds.
func eventually(_ condition: () async -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(10)
    while await !condition() {
        try #require(ContinuousClock.now < end, "it did not happen in ten seconds")
        try await Task.sleep(for: .milliseconds(5))
    }
}
