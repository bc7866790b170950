import HirobaContract
import HirobaCore
import HirobaCrypto
import HirobaStore
import HirobaThreads
import TestSupport

/// A core on an empty database, with a clock that a test moves, bytes in memory and pictures that are only pretended.
struct Forum: Sendable {
    let core: Core
    let database: Database
    let blobs: MemoryBlobs
    let pictures: PretendedPictures
    let time: ManualTime

    init(_ database: Database, options: Core.Options = Core.Options(), time: ManualTime = ManualTime()) {
        self.database = database
        self.time = time
        blobs = MemoryBlobs()
        pictures = PretendedPictures()
        core = Core(
            database: database, blobs: blobs, pictures: pictures, clock: Clock { time.now },
            options: options)
    }

    /// Somebody new, signed in.
    func person() async throws -> Caller {
        try await caller(secret: Token.random256())
    }

    func caller(secret: String) async throws -> Caller {
        let answer = try await core.accounts.signInAnonymously(SignInAnonymously(deviceSecret: secret), by: Caller())
        return Caller(credential: .session(token: answer.signedIn.token))
    }

    func id(of caller: Caller) async throws -> User.ID { try await core.accounts.me(GetMe(), by: caller).id }

    /// A topic a millisecond later than everything before.
    func topic(_ title: String = "A bench in the square", photo: StoredFile.ID? = nil, by caller: Caller) async throws
        -> Topic
    {
        time.advance(by: .milliseconds(1))
        return try await core.community.createTopic(CreateTopic(title: title, photo: photo), by: caller)
    }

    /// A comment a millisecond later than everything before.
    func comment(_ text: String = "Well said", on topic: Topic, by caller: Caller) async throws
        -> HirobaContract.Comment
    {
        time.advance(by: .milliseconds(1))
        return try await core.community.createComment(CreateComment(topic: topic.id, text: text), by: caller)
    }

    func upload(_ bytes: [UInt8], type: String? = nil, by caller: Caller) async throws -> StoredFile {
        try await core.files.upload(Chunks(bytes, of: 7), declaredType: type, by: caller)
    }

    func count(_ table: SQL) async throws -> Int64? {
        try await database.read { db in try db.first("SELECT count(*) FROM \(table)") { row in try row.integer(0) } }
    }

    /// Rewrites the lists of a row, as there is no call for it yet.
    func setAccess(_ table: SQL, _ id: String, read: AccessList? = nil, write: AccessList? = nil) async throws {
        try await database.write { db in
            if let read { try db.run("UPDATE \(table) SET acl_read = \(read) WHERE id = \(id)") }
            if let write { try db.run("UPDATE \(table) SET acl_write = \(write) WHERE id = \(id)") }
        }
    }
}

/// The same body on both databases.
func withForums(
    _ change: (inout Core.Options) -> Void = { _ in }, _ body: (Forum) async throws -> Void
) async throws {
    var options = Core.Options()
    change(&options)
    try await withDatabases(migrations: Schema.migrations) { database in
        try await body(Forum(database, options: options))
    }
}

/// What the work was refused with; nil when it was not.
func refusal<Result>(_ work: () async throws -> Result) async -> HirobaError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? HirobaError ?? .internal("unexpected: \(error)")
    }
}

final class ManualTime: Sendable {
    private let milliseconds = Lock<Int64>(1_800_000_000_000)

    var now: Int64 { milliseconds.withLock { $0 } }

    func advance(by duration: Duration) {
        milliseconds.withLock {
            $0 += duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        }
    }
}

/// Bytes in pieces; with `error` they end before their time.
struct Chunks: AsyncSequence, Sendable {
    struct Cut: Error {}

    let bytes: [UInt8]
    let size: Int
    let isCut: Bool

    init(_ bytes: [UInt8], of size: Int, isCut: Bool = false) {
        self.bytes = bytes
        self.size = size
        self.isCut = isCut
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>
        let size: Int
        let isCut: Bool

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> [UInt8]? {
            if rest.isEmpty { if isCut { throw Cut() } else { return nil } }
            defer { rest = rest.dropFirst(size) }
            return Array(rest.prefix(size))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: bytes[...], size: size, isCut: isCut) }
}

final class MemoryBlobs: BlobStore {
    private let blobs = Lock<[BlobID: [UInt8]]>([:])

    var all: [BlobID: [UInt8]] { blobs.withLock { $0 } }

    func put<Source: AsyncSequence & Sendable>(_ chunks: Source, limit: Int) async throws -> StoredBlob
    where Source.Element == [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in chunks {
            bytes += chunk
            guard bytes.count <= limit else { throw StoreError(.tooLarge, "more than \(limit) bytes") }
        }
        let id = BlobID.random()
        blobs.withLock { $0[id] = bytes }
        return StoredBlob(id: id, size: bytes.count, sha256: SHA256.hash(bytes))
    }

    func get(_ id: BlobID, range: Range<Int>?) async throws -> [UInt8] {
        guard let bytes = all[id] else { throw StoreError(.notFound, "no such blob") }
        return range.map { Array(bytes[$0.clamped(to: 0..<bytes.count)]) } ?? bytes
    }

    func size(_ id: BlobID) async throws -> Int { try await get(id).count }
    func localPath(_ id: BlobID) -> String? { nil }
    func delete(_ id: BlobID) async throws { blobs.withLock { $0[id] = nil } }
    func list() async throws -> [BlobID] { Array(all.keys) }
}

/// Takes `FF D8 FF`, a letter and a text for a JPEG of 1000 × 500 pixels whose text is metadata: `c` is clean already,
/// `m` has metadata, `b` is a bomb, `x` is broken, `f` makes the decoder fail.
final class PretendedPictures: PictureMaker {
    private struct State {
        var thumbnails = 0
        var gate: [CheckedContinuation<Void, Never>]?
    }

    private let state = Lock(State())

    static func picture(_ kind: Character, _ text: String = "") -> [UInt8] {
        [0xFF, 0xD8, 0xFF] + Array("\(kind)\(text)".utf8)
    }

    /// How many thumbnails were really made.
    var thumbnailsMade: Int { state.withLock { $0.thumbnails } }

    /// From now on thumbnails wait for `openGate`.
    func closeGate() { state.withLock { $0.gate = [] } }

    func openGate() {
        let waiting = state.withLock { state in
            defer { state.gate = nil }
            return state.gate ?? []
        }
        for waiter in waiting { waiter.resume() }
    }

    func clean(_ bytes: [UInt8]) async throws(PictureError) -> CleanPicture {
        switch bytes.count > 3 ? bytes[3] : 0 {
        case UInt8(ascii: "c"): CleanPicture(type: "image/jpeg", width: 1000, height: 500, bytes: bytes)
        case UInt8(ascii: "m"):
            CleanPicture(type: "image/jpeg", width: 1000, height: 500, bytes: Self.picture("c"))
        case UInt8(ascii: "b"): throw .tooManyPixels
        case UInt8(ascii: "f"): throw .failed("crashed")
        default: throw .notAPicture
        }
    }

    func thumbnail(_ bytes: [UInt8], size: Int) async throws(PictureError) -> CleanPicture {
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                state.thumbnails += 1
                guard state.gate != nil else { return true }
                state.gate?.append(continuation)
                return false
            }
            if passes { continuation.resume() }
        }
        return CleanPicture(
            type: "image/webp", width: size, height: size / 2, bytes: Array("thumbnail of \(size)".utf8))
    }
}

/// Waits until the condition holds, half a minute at most.
func until(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw TestSupportError("waited in vain") }
        try await Task.sleep(for: .milliseconds(2))
    }
}
