import CLinux
import Glibc
import HirobaContract
import HirobaCore
import HirobaJSON
import HirobaStore
import HirobaThreads
import TestSupport

@testable import HirobaServer

/// The real program, answering on a real socket, on one of the two databases.
struct TestServer: Sendable {
    let app: HirobaApp
    let folder: String
    let log: LogFile
    let database: Database

    var port: Int { app.port }

    /// Runs the same body against a server on SQLite and against one on PostgreSQL.
    static func onBoth(
        configure: (inout Configuration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
    ) async throws {
        try await withDatabases(migrations: Schema.migrations) { database in
            try await run(on: database, configure, body)
        }
    }

    /// For what the database has no part in.
    static func onSQLite(
        configure: (inout Configuration) -> Void = { _ in }, _ body: (TestServer) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let database = try await Database.open(.sqlite(path: folder + "/t.db"), migrations: Schema.migrations)
            try await run(on: database, configure, body)
            await database.close()
        }
    }

    private static func run(
        on database: Database, _ configure: (inout Configuration) -> Void, _ body: (TestServer) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { temporary async throws in
            var configuration = Configuration()
            configuration.data = temporary + "/data"
            configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
            configuration.loops = 2
            configure(&configuration)
            let log = try LogFile(path: temporary + "/log")
            let app = try await HirobaApp.start(
                configuration, in: DataFolder(path: configuration.data), database, log.log, pictures: TestPictures())
            do {
                try await body(TestServer(app: app, folder: configuration.data, log: log, database: database))
            } catch {
                await app.stop()
                throw error
            }
            await app.stop()
        }
    }

    // MARK: - Raw requests

    /// Sends bytes as they are and reads until the server closes.
    func exchange(_ bytes: [UInt8]) async throws -> Answer {
        let port = port
        return try await TestServer.blocking.run {
            let socket = try TestSocket(port: port)
            try socket.write(bytes)
            guard let answer = Answer(try socket.readAll()) else { throw TestFailure("no answer, or a broken one") }
            return answer
        }
    }

    /// One request on a connection of its own.
    func request(
        _ method: String, _ target: String, _ headers: [(String, String)] = [], body: [UInt8]? = nil
    ) async throws -> Answer {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: forum.example\r\nConnection: close\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.count)\r\n" }
        return try await exchange(Array((text + "\r\n").utf8) + (body ?? []))
    }

    /// A request with a JSON body.
    func json(
        _ method: String, _ target: String, _ body: String, token: String? = nil, _ headers: [(String, String)] = []
    ) async throws -> Answer {
        var headers = headers + [("Content-Type", "application/json")]
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        return try await request(method, target, headers, body: Array(body.utf8))
    }

    func get(_ target: String, token: String? = nil, _ headers: [(String, String)] = []) async throws -> Answer {
        try await request("GET", target, headers + (token.map { [("Authorization", "Bearer \($0)")] } ?? []))
    }

    func delete(_ target: String, token: String? = nil) async throws -> Answer {
        try await request("DELETE", target, token.map { [("Authorization", "Bearer \($0)")] } ?? [])
    }

    // MARK: - Calls

    /// A call, encoded and decoded by the contract alone.
    /// - Throws: the `Problem` the server answered.
    func send<C: Call>(_ call: C, token: String? = nil) async throws -> C.Answer {
        let encoded = try CallCoding.encode(call)
        var headers: [(String, String)] = []
        if encoded.body != nil { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        let answer = try await request(encoded.method.rawValue, encoded.target, headers, body: encoded.body)
        guard C.successStatuses.contains(answer.status) else {
            throw try JSONCoding.decode(Problem.self, from: answer.body, unknownFields: .refuse)
        }
        // No content has no bytes, and its type takes an empty object.
        let body = answer.status == 204 ? Array("{}".utf8) : answer.body
        return try JSONCoding.decode(C.Answer.self, from: body, unknownFields: .refuse)
    }

    /// A new anonymous person.
    func person(_ name: String) async throws -> SignedIn {
        try await send(SignInAnonymously(deviceSecret: "the secret of \(name), long enough"))
    }

    func upload(_ bytes: [UInt8], type: String = "image/png", token: String) async throws -> StoredFile {
        let answer = try await request(
            "POST", "/v1/files", [("Content-Type", type), ("Authorization", "Bearer \(token)")], body: bytes)
        guard answer.status == 201 else {
            throw try JSONCoding.decode(Problem.self, from: answer.body, unknownFields: .refuse)
        }
        return try JSONCoding.decode(StoredFile.self, from: answer.body, unknownFields: .refuse)
    }

    /// Threads for the sockets of tests, which block.
    static let blocking = WorkerPool(name: "test-io", threads: 16, queue: 1_000)
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A log that is written to a file and can be read back.
struct LogFile: Sendable {
    let log: Log
    private let path: String

    init(path: String) throws {
        self.path = path
        // It stays open, because a log may write for as long as anybody has it; child processes must not have it.
        let descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TestFailure("cannot write \(path)") }
        log = Log(descriptor: descriptor)
    }

    var lines: [JSON] {
        log.flush()
        return (readFile(path) ?? []).split(separator: 0x0A).compactMap { try? JSON.parse(Array($0)) }
    }

    var text: String {
        log.flush()
        return String(decoding: readFile(path) ?? [], as: UTF8.self)
    }
}

/// Takes what begins like a PNG for a picture of 40 by 30 and hands it back; for tests that need no real pictures.
struct TestPictures: PictureMaker {
    static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Array("a picture for a test".utf8)

    func clean(_ bytes: [UInt8]) async throws(PictureError) -> CleanPicture {
        guard bytes.starts(with: Self.png.prefix(8)) else { throw .notAPicture }
        return CleanPicture(type: "image/png", width: 400, height: 300, bytes: bytes)
    }

    func thumbnail(_ bytes: [UInt8], size: Int) async throws(PictureError) -> CleanPicture {
        CleanPicture(type: "image/png", width: size, height: size * 3 / 4, bytes: Array("small \(size)".utf8))
    }
}
