import HirobaContract
import HirobaCore
import HirobaCrypto
import HirobaStore
import Testing

@Suite struct FilesTests {
    private let clean = PretendedPictures.picture("c", "picture")

    private func bytes(_ content: FileContent) -> [UInt8]? {
        if case .bytes(let bytes) = content.source { bytes } else { nil }
    }

    @Test("what was uploaded comes back, with its hash as its tag")
    func roundTrip() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let data = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
            let file = try await forum.upload(data, type: "text/html", by: hana)
            // Whatever its sender says: no browser may run it, so it is mere bytes.
            #expect(file.type == "application/octet-stream" && file.size == 1000 && file.width == nil)
            let content = try await forum.core.files.open(DownloadFile(file: file.id), by: Caller())
            #expect(bytes(content) == data && content.size == 1000 && !content.isPicture)
            #expect(content.etag == Hex.encode(SHA256.hash(data)))
        }
    }

    @Test("a clean picture is kept byte for byte, another without its metadata and nothing besides")
    func pictures() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let file = try await forum.upload(clean, type: "application/x-whatever", by: hana)
            #expect(file.type == "image/jpeg" && file.width == 1000 && file.height == 500)
            let content = try await forum.core.files.open(DownloadFile(file: file.id), by: Caller())
            #expect(bytes(content) == clean && content.isPicture)

            let located = try await forum.upload(PretendedPictures.picture("m", "35.68N 139.76E"), by: hana)
            #expect(located.size == 4)
            let kept = forum.blobs.all.values
            #expect(kept.count == 2 && kept.contains(PretendedPictures.picture("c")) && kept.contains(clean))
        }
    }

    @Test("what is refused, why, and that nothing of it is kept")
    func refusals() async throws {
        try await withForums({ $0.limits.uploadBytes = 100 }) { forum in
            let hana = try await forum.person()
            let table: [([UInt8], String?, ErrorCode)] = [
                (Array("no picture".utf8), "image/png", .unsupportedMediaType),
                (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), "image/svg+xml", .unsupportedMediaType),
                (PretendedPictures.picture("x", "broken"), "image/jpeg", .unsupportedMediaType),
                (PretendedPictures.picture("x", "broken"), nil, .unsupportedMediaType),
                (PretendedPictures.picture("b", "bomb"), "image/jpeg", .tooLarge),
                (PretendedPictures.picture("f", "crash"), "image/jpeg", .unavailable),
                ([UInt8](repeating: 1, count: 101), nil, .tooLarge),
                ([], nil, .invalidRequest),
            ]
            for (data, type, code) in table {
                #expect(await refusal { try await forum.upload(data, type: type, by: hana) }?.code == code, "\(data)")
            }
            #expect(await refusal { try await forum.upload(clean, by: Caller()) }?.code == .unauthorized)
            let ended = Caller(credential: .session(token: "ended"))
            #expect(await refusal { try await forum.upload(clean, by: ended) }?.code == .unauthorized)
            let files = try await forum.count("files")
            #expect(files == 0 && forum.blobs.all.isEmpty)
            _ = try await forum.upload([UInt8](repeating: 1, count: 100), by: hana)
        }
    }

    @Test("a body that breaks off leaves nothing, and its error reaches the surface as it was")
    func cutUpload() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            await #expect(throws: Chunks.Cut.self) {
                try await forum.core.files.upload(Chunks(clean, of: 2, isCut: true), declaredType: nil, by: hana)
            }
            let (files, events) = (
                try await forum.count("files"), try await forum.count("events WHERE kind = 'file.created'")
            )
            #expect(files == 0 && events == 0 && forum.blobs.all.isEmpty)
        }
    }

    @Test("a session that ends during an upload keeps nothing of it")
    func sessionEndsDuringUpload() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let body = Interrupted(bytes: clean) {
                try await forum.core.accounts.endAllSessions(EndAllSessions(), by: hana)
            }
            #expect(
                await refusal { try await forum.core.files.upload(body, declaredType: nil, by: hana) }?.code
                    == .unauthorized)
            #expect(forum.blobs.all.isEmpty)
        }
    }

    @Test("a thumbnail has the next larger of a few sizes, is made once and kept")
    func thumbnails() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let file = try await forum.upload(clean, by: hana)
            for (wish, side) in [(1, 100), (100, 100), (101, 200), (800, 800)] {
                let content = try await forum.core.files.open(DownloadFile(file: file.id, size: wish), by: Caller())
                #expect(bytes(content) == Array("thumbnail of \(side)".utf8) && content.type == "image/webp")
                #expect(content.etag.hasSuffix("-\(side)"))
            }
            #expect(forum.pictures.thumbnailsMade == 3)
            // Never blown up: the picture is 1,000 pixels wide.
            for wish in [801, 5000, Int.max] {
                let content = try await forum.core.files.open(DownloadFile(file: file.id, size: wish), by: Caller())
                #expect(bytes(content) == clean && !content.etag.contains("-"))
            }
            #expect(forum.pictures.thumbnailsMade == 3)
            for wish in [0, -1] {
                #expect(
                    await refusal {
                        try await forum.core.files.open(DownloadFile(file: file.id, size: wish), by: hana)
                    }?.field == "size")
            }
            let text = try await forum.upload(Array("text".utf8), by: hana)
            #expect(
                await refusal { try await forum.core.files.open(DownloadFile(file: text.id, size: 100), by: hana) }?
                    .field == "size")
        }
    }

    @Test("many who want the same new thumbnail get it from one piece of work")
    func singleFlight() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let file = try await forum.upload(clean, by: hana)
            forum.pictures.closeGate()
            defer { forum.pictures.openGate() }
            try await withThrowingTaskGroup { group in
                for _ in 0..<10 {
                    group.addTask {
                        try await forum.core.files.open(DownloadFile(file: file.id, size: 100), by: Caller()).etag
                    }
                }
                try await until { forum.pictures.thumbnailsMade > 0 }
                // Once the others are on their way too: nobody but the first may begin.
                for _ in 0..<50 { _ = try await forum.database.read { _ in true } }
                forum.pictures.openGate()
                let tags = try await group.reduce(into: Set<String>()) { $0.insert($1) }
                #expect(tags.count == 1)
            }
            #expect(forum.pictures.thumbnailsMade == 1)
            let rows = try await forum.count("thumbnails")
            #expect(rows == 1 && forum.blobs.all.count == 2)
        }
    }

    @Test("a thumbnail of a file that is deleted meanwhile is not kept")
    func deletedWhileThumbnailIsMade() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let file = try await forum.upload(clean, by: hana)
            forum.pictures.closeGate()
            async let answer = refusal {
                try await forum.core.files.open(DownloadFile(file: file.id, size: 100), by: Caller())
            }
            try await until { forum.pictures.thumbnailsMade == 1 }
            try await forum.core.files.delete(DeleteFile(file: file.id), by: hana)
            forum.pictures.openGate()
            #expect(await answer?.code == .notFound)
            let rows = try await forum.count("thumbnails")
            #expect(rows == 0 && forum.blobs.all.isEmpty)
        }
    }

    @Test("only the owner deletes; then row, bytes and thumbnails are gone and topics go on without the picture")
    func deletion() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let file = try await forum.upload(clean, by: hana)
            _ = try await forum.core.files.open(DownloadFile(file: file.id, size: 100), by: ken)
            let topic = try await forum.topic(photo: file.id, by: hana)
            let files = forum.core.files
            #expect(await refusal { try await files.delete(DeleteFile(file: file.id), by: ken) }?.code == .forbidden)
            #expect(
                await refusal { try await files.delete(DeleteFile(file: file.id), by: Caller()) }?.code == .unauthorized
            )
            #expect(forum.blobs.all.count == 2)

            try await files.delete(DeleteFile(file: file.id), by: hana)
            let thumbnails = try await forum.count("thumbnails")
            #expect(forum.blobs.all.isEmpty && thumbnails == 0)
            for size in [nil, 100] {
                #expect(
                    await refusal { try await files.open(DownloadFile(file: file.id, size: size), by: hana) }?.code
                        == .notFound)
            }
            #expect(await refusal { try await files.delete(DeleteFile(file: file.id), by: hana) }?.code == .notFound)
            #expect(try await forum.core.community.topic(GetTopic(topic: topic.id), by: ken).photo == nil)
        }
    }

    @Test("a file that only some may read is found by nobody else, in no size")
    func accessList() async throws {
        try await withForums { forum in
            let (hana, ken) = (try await forum.person(), try await forum.person())
            let file = try await forum.upload(clean, by: hana)
            _ = try await forum.core.files.open(DownloadFile(file: file.id, size: 100), by: hana)
            try await forum.setAccess("files", file.id.rawValue, read: .only(try await forum.id(of: hana)))
            for caller in [ken, Caller()] {
                for size in [nil, 100, 200] {
                    #expect(
                        await refusal {
                            try await forum.core.files.open(DownloadFile(file: file.id, size: size), by: caller)
                        }?.code == .notFound)
                }
            }
            #expect(
                await refusal { try await forum.core.files.delete(DeleteFile(file: file.id), by: ken) }?.code
                    == .notFound)
            _ = try await forum.core.files.open(DownloadFile(file: file.id, size: 200), by: hana)
        }
    }

    @Test("maintenance looks for bytes without a row a few times a day")
    func orphansInMaintenance() async throws {
        try await withForums { forum in
            _ = try await forum.blobs.put(Array("left over".utf8))
            for _ in 0..<4 {
                try await forum.core.maintain()
                #expect(forum.blobs.all.count == 1)
                forum.time.advance(by: .seconds(6 * 3600))
            }
            // First seen six hours after the start, then old enough a day later.
            try await forum.core.maintain()
            #expect(forum.blobs.all.count == 1)
            forum.time.advance(by: .seconds(6 * 3600))
            try await forum.core.maintain()
            #expect(forum.blobs.all.isEmpty)
        }
    }

    @Test("bytes without a row are deleted once they have been so for a day")
    func orphans() async throws {
        try await withForums { forum in
            let hana = try await forum.person()
            let file = try await forum.upload(clean, by: hana)
            _ = try await forum.core.files.open(DownloadFile(file: file.id, size: 100), by: hana)
            _ = try await forum.blobs.put(Array("left over".utf8))
            #expect(try await forum.core.files.collectOrphans() == 0)
            forum.time.advance(by: .seconds(23 * 3600))
            let young = try await forum.blobs.put(Array("just being uploaded".utf8))
            #expect(try await forum.core.files.collectOrphans() == 0)
            forum.time.advance(by: .seconds(3600))
            #expect(try await forum.core.files.collectOrphans() == 1)
            #expect(forum.blobs.all.count == 3 && forum.blobs.all[young.id] != nil)
            _ = try await forum.core.files.open(DownloadFile(file: file.id, size: 100), by: hana)
        }
    }
}

/// A body during which something else happens.
private struct Interrupted: AsyncSequence, Sendable {
    let bytes: [UInt8]
    let interruption: @Sendable () async throws -> Void

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: [UInt8]?
        let interruption: @Sendable () async throws -> Void

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> [UInt8]? {
            defer { rest = nil }
            if rest == nil { try await interruption() }
            return rest
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: bytes, interruption: interruption) }
}
