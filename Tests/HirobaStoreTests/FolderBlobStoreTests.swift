import Glibc
import HirobaCrypto
import HirobaStore
import TestSupport
import Testing

@Suite struct FolderBlobStoreTests {
    @Test("what was put comes back whole, in ranges and as a file, with its size and hash")
    func roundTrip() async throws {
        try await withTemporaryFolder { folder in
            let store = try await FolderBlobStore.open(folder + "/blobs")
            let bytes = pattern(400_000)
            let chunks = stride(from: 0, to: bytes.count, by: 7001).map {
                Array(bytes[$0..<min($0 + 7001, bytes.count)])
            }
            let blob = try await store.put(stream(chunks), limit: 400_000)
            #expect(blob.size == 400_000)
            #expect(blob.sha256 == SHA256.hash(bytes))
            #expect(try await store.get(blob.id) == bytes)
            #expect(try await store.get(blob.id, range: 5..<9) == Array(bytes[5..<9]))
            #expect(try await store.get(blob.id, range: 399_999..<500_000) == [bytes[399_999]])
            #expect(try await store.get(blob.id, range: 400_000..<400_001) == [])
            #expect(try await store.size(blob.id) == 400_000)
            let path = try #require(store.localPath(blob.id))
            #expect(try contents(of: path) == bytes)
        }
    }

    @Test("an empty blob is a blob")
    func empty() async throws {
        try await withTemporaryFolder { folder in
            let store = try await FolderBlobStore.open(folder + "/blobs")
            let blob = try await store.put([])
            #expect(try await store.get(blob.id) == [])
        }
    }

    @Test("the same bytes twice are two blobs, and deleting one leaves the other")
    func ids() async throws {
        try await withTemporaryFolder { folder in
            let store = try await FolderBlobStore.open(folder + "/blobs")
            let first = try await store.put([1, 2, 3])
            let second = try await store.put([1, 2, 3])
            #expect(Set(try await store.list()) == [first.id, second.id])
            try await store.delete(first.id)
            try await store.delete(first.id)
            #expect(try await store.list() == [second.id])
            #expect(try await store.get(second.id) == [1, 2, 3])
            await #expect(throws: StoreError.self) { try await store.get(first.id) }
            #expect(await code { try await store.size(first.id) } == .notFound)
        }
    }

    @Test("too many bytes, or a sender that fails, leave nothing behind")
    func nothingHalfWritten() async throws {
        try await withTemporaryFolder { folder in
            let store = try await FolderBlobStore.open(folder + "/blobs")
            #expect(await code { try await store.put(stream([pattern(200_000), [1]]), limit: 200_000) } == .tooLarge)
            struct Gone: Error {}
            let broken = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield(pattern(200_000))
                continuation.finish(throwing: Gone())
            }
            await #expect(throws: Gone.self) { try await store.put(broken, limit: 1_000_000) }
            #expect(try await store.list() == [])
            #expect(try names(in: folder + "/blobs/incoming") == [])
        }
    }

    @Test("what an upload left that a crash ended is removed at the next start")
    func leftovers() async throws {
        try await withTemporaryFolder { folder in
            let blob = try await FolderBlobStore.open(folder + "/blobs").put([7])
            let leftover = try #require(fopen(folder + "/blobs/incoming/half", "w"))
            fclose(leftover)
            let store = try await FolderBlobStore.open(folder + "/blobs")
            #expect(try names(in: folder + "/blobs/incoming") == [])
            #expect(try await store.get(blob.id) == [7])
        }
    }

    @Test("an id is only what we could have made: no path, no other length")
    func ids2() {
        #expect(BlobID("../../../../etc/passwd----") == nil)
        #expect(BlobID("") == nil)
        #expect(BlobID(String(repeating: "A", count: 26)) == nil)
        #expect(BlobID(BlobID.random().description) != nil)
    }
}

private func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) } }

private func stream(_ chunks: [[UInt8]]) -> AsyncStream<[UInt8]> {
    AsyncStream { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish()
    }
}

private func contents(of path: String) throws -> [UInt8] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1_000_000)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes.prefix(count))
}

private func names(in folder: String) throws -> [String] {
    let opened = try #require(opendir(folder))
    defer { closedir(opened) }
    var names: [String] = []
    while let entry = readdir(opened) {
        names.append(
            withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names.filter { !$0.hasPrefix(".") }
}

/// The code of the `StoreError` that `body` throws; nil when it throws none.
func code<Result>(_ body: () async throws -> Result) async -> StoreError.Code? {
    do {
        _ = try await body()
        return nil
    } catch let error as StoreError {
        return error.code
    } catch {
        return nil
    }
}
