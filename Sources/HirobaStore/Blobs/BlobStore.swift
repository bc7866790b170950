/// Where the bytes of files lie: a folder, or a bucket.
///
/// Each `put` makes an id of its own, also for bytes that are there already. Write the bytes first and then the row that
/// names them; delete the row first and then the bytes: what is left over by a crash is an orphan, never a row without bytes.
package protocol BlobStore: Sendable {
    /// Takes the bytes as they come and returns once they are on disk. More than `limit` bytes is `.tooLarge`. An error,
    /// also one thrown by `chunks`, leaves nothing behind.
    func put<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, limit: Int) async throws -> StoredBlob
    where Chunks.Element == [UInt8]

    /// The bytes in `range`, cut to what there is; all of them when nil. `.notFound` when there is no such blob.
    func get(_ id: BlobID, range: Range<Int>?) async throws -> [UInt8]

    func size(_ id: BlobID) async throws -> Int

    /// A file that holds exactly the blob's bytes, for sendfile; nil when the store has none on this machine.
    func localPath(_ id: BlobID) -> String?

    /// Deleting what is not there is fine.
    func delete(_ id: BlobID) async throws

    /// The ids of all blobs, in no order. To find orphans.
    func list() async throws -> [BlobID]
}

extension BlobStore {
    package func put(_ bytes: [UInt8]) async throws -> StoredBlob {
        try await put(
            AsyncStream {
                $0.yield(bytes); $0.finish()
            }, limit: bytes.count)
    }

    package func get(_ id: BlobID) async throws -> [UInt8] { try await get(id, range: nil) }
}

/// Names one upload. 26 letters and digits, so that it is safe as a file name and cannot be guessed.
package struct BlobID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Nil when the text is none that we made.
    package init?(_ text: String) {
        guard text.utf8.count == Self.length, text.utf8.allSatisfy(Self.alphabet.contains) else { return nil }
        description = text
    }

    package static func random() -> BlobID {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<length).map { _ in alphabet[Int(random.next(upperBound: UInt(alphabet.count)))] }
        return BlobID(checked: String(decoding: bytes, as: UTF8.self))
    }

    private init(checked text: String) { description = text }

    private static let length = 26
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
}

/// What `put` has learnt about the bytes on their way.
package struct StoredBlob: Sendable {
    package let id: BlobID
    package let size: Int
    /// Of the bytes; good as an ETag.
    package let sha256: [UInt8]

    package init(id: BlobID, size: Int, sha256: [UInt8]) {
        self.id = id
        self.size = size
        self.sha256 = sha256
    }
}
