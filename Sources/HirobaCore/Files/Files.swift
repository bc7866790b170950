#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
package import HirobaContract
internal import HirobaCrypto
internal import HirobaStore
internal import HirobaThreads

/// What people upload. Pictures lose their metadata on the way in; nothing else is ever shown by a browser.
package struct Files: Sendable {
    let desk: Desk
    let blobs: any BlobStore
    let pictures: any PictureMaker
    let thumbnailsInTheMaking = SingleFlight<String>()
    let orphans = Orphans()
    /// Each of these holds a whole picture in memory, 20 MiB at most.
    let pictureWork = Turnstile(atOnce: 2, queue: 64)
}

/// A file on its way to whoever asked for it.
package struct FileContent: Sendable {
    package enum Source: Sendable {
        /// A file on this machine with exactly these bytes.
        case path(String)
        case bytes([UInt8])
    }

    package let type: String
    /// In bytes.
    package let size: Int
    /// Changes when the bytes do. Without the quotes of a header.
    package let etag: String
    package let source: Source

    /// Whether a browser may show it on our pages. Everything else must be sent as a download.
    package var isPicture: Bool { type != MediaType.bytes }
}

// MARK: - Upload

extension Files {
    /// Takes the bytes as they come. Pictures are known by their bytes and kept upright and without metadata; bytes
    /// that claim to be a picture and are none are refused; anything else is kept as mere bytes.
    ///
    /// A body that ends early leaves nothing. What the body throws is thrown on as it is.
    package func upload<Body: AsyncSequence & Sendable>(
        _ body: Body, declaredType: String?, by caller: Caller
    ) async throws -> StoredFile where Body.Element == [UInt8] {
        // Before any byte is taken: nobody may upload, and a dead session finds out first.
        _ = try await desk.read(caller) { _, visitor in try visitor.signedIn().user }
        let head = Lock<[UInt8]>([])
        let raw: StoredBlob
        do {
            raw = try await blobs.put(HeadTap(base: body, head: head), limit: desk.limits.uploadBytes)
        } catch let error as StoreError {
            throw error.code == .tooLarge ? HirobaError.tooLarge(limit: desk.limits.uploadBytes) : HirobaError(error)
        }
        var kept = raw.id
        do {
            guard raw.size > 0 else {
                throw HirobaError(.invalidRequest, Sentence(en: "The file is empty.", ja: "ファイルが空です。"))
            }
            let looksLikePicture = MediaType.looksLikePicture(head.withLock { $0 })
            guard looksLikePicture || !MediaType.claimsPicture(declaredType) else { throw HirobaError.noPicture }
            var file = NewFile(type: MediaType.bytes, size: raw.size, hash: raw.sha256)
            if looksLikePicture {
                let clean = try await pictureWork.pass { () throws(HirobaError) in try await cleanPicture(raw) }
                file = clean.file
                if let blob = clean.blob {
                    kept = blob
                    await deleteBytes([raw.id.description])
                }
            }
            // A repeated upload is recognised by what was sent, not by what was kept of it.
            let repeatable = try Repeatable(caller, "UploadFile", raw.sha256)
            let (stored, isNew) = try await insert(file, kept, repeatable, by: caller)
            if !isNew { await deleteBytes([kept.description]) }
            return stored
        } catch {
            await deleteBytes([kept.description])
            throw error
        }
    }

    private struct NewFile: Sendable {
        let id = ObjectID.random()
        var type: String
        var size: Int
        var width: Int?
        var height: Int?
        var hash: String

        init(type: String, size: Int, hash: [UInt8]) {
            (self.type, self.size, self.hash) = (type, size, Hex.encode(hash))
        }
    }

    /// - Returns: the picture as it will be kept, and its blob unless that is the one it was uploaded to.
    private func cleanPicture(_ raw: StoredBlob) async throws(HirobaError) -> (file: NewFile, blob: BlobID?) {
        do {
            let bytes = try await blobs.get(raw.id)
            let picture = try await pictures.clean(bytes)
            let isTheSame = picture.bytes == bytes
            let blob = isTheSame ? raw : try await blobs.put(picture.bytes)
            var file = NewFile(type: picture.type, size: blob.size, hash: blob.sha256)
            (file.width, file.height) = (picture.width, picture.height)
            return (file, isTheSame ? nil : blob.id)
        } catch let error as PictureError {
            throw HirobaError(picture: error)
        } catch {
            throw HirobaError(error)
        }
    }

    private func insert(
        _ file: NewFile, _ blob: BlobID, _ repeatable: Repeatable?, by caller: Caller
    ) async throws(HirobaError) -> (StoredFile, isNew: Bool) {
        let now = desk.clock.now()
        return try await desk.write(caller) { db, visitor in
            let member = try visitor.signedIn()
            if let earlier = try repeatable?.earlierSubject(of: member.user, in: db) {
                guard let stored = try Self.stored(earlier, in: db) else { throw HirobaError.notFound }
                return (stored, false)
            }
            try db.run(
                """
                INSERT INTO files (id, type, size, width, height, hash, blob, created_at, updated_at, owner, version,
                    acl_read, acl_write)
                VALUES (\(file.id), \(file.type), \(file.size), \(.bound(file.width)), \(.bound(file.height)), \(file.hash),
                    \(blob.description), \(now), \(now), \(member.user.rawValue), 1, \(AccessList.everyone),
                    \(AccessList.only(member.user)))
                """)
            try repeatable?.remember(file.id, of: member.user, in: db, at: now)
            try Event(.fileCreated, file.id, actor: member.user, read: .everyone, at: now).append(in: db)
            let stored = StoredFile(
                id: StoredFile.ID(rawValue: file.id), type: file.type, size: file.size, width: file.width,
                height: file.height, createdAt: Date(milliseconds: now))
            return (stored, true)
        }
    }

    private static func stored(_ id: String, in db: Transaction) throws -> StoredFile? {
        try db.first("SELECT id, type, size, width, height, created_at FROM files WHERE id = \(id)") { row in
            StoredFile(
                id: StoredFile.ID(rawValue: try row.text(0)), type: try row.text(1), size: Int(try row.integer(2)),
                width: try row.optionalInteger(3).map { Int($0) }, height: try row.optionalInteger(4).map { Int($0) },
                createdAt: try row.date(5))
        }
    }
}

/// Passes chunks on and keeps a copy of the first bytes.
private struct HeadTap<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == [UInt8] {
    let base: Base
    let head: Lock<[UInt8]>

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        let head: Lock<[UInt8]>
        var isFull = false

        mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> [UInt8]? {
            guard let chunk = try await base.next(isolation: actor) else { return nil }
            if !isFull {
                isFull = head.withLock { head in
                    head += chunk.prefix(MediaType.headLength - head.count)
                    return head.count >= MediaType.headLength
                }
            }
            return chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator(), head: head) }
}

// MARK: - Download

extension Files {
    /// The sides that thumbnails are made in. Any wish is rounded up to one of them, so that nobody can have thousands made.
    package static let thumbnailSides = [100, 200, 400, 800, 1600]

    /// The file, or with `size` the picture scaled to fit a square of about that side. Small pictures are not blown up.
    package func open(_ call: DownloadFile, by caller: Caller) async throws(HirobaError) -> FileContent {
        let id = try StoredID(call.file)
        let side = try call.size.map { wish throws(HirobaError) in try Self.side(for: wish) }
        // Whoever waits for somebody else's thumbnail looks again when it should be there.
        for _ in 0..<3 {
            let found = try await find(id, side: side, by: caller)
            guard let side, found.needsThumbnail(side) else { return try await found.content(side: side, in: blobs) }
            _ = try await thumbnailsInTheMaking.run("\(id.text) \(side)") { () throws(HirobaError) in
                // Somebody may have finished it between the look above and this turn.
                let found = try await find(id, side: side, by: caller)
                guard found.needsThumbnail(side) else { return }
                try await pictureWork.pass { () throws(HirobaError) in
                    try await makeThumbnail(of: found, id, side: side)
                }
            }
        }
        throw .unavailable("a thumbnail could not be made", retryAfter: .seconds(1))
    }

    private static func side(for wish: Int) throws(HirobaError) -> Int {
        guard wish > 0 else {
            throw .invalid("size", Sentence(en: "A size is a number of pixels.", ja: "サイズはピクセル数で指定してください。"))
        }
        return thumbnailSides.first { $0 >= wish } ?? thumbnailSides[thumbnailSides.count - 1]
    }

    private struct Found: Sendable {
        struct Bytes: Sendable {
            let type: String
            let size: Int
            let blob: String
        }

        let original: Bytes
        let longerSide: Int?
        let hash: String
        let thumbnail: Bytes?

        func needsThumbnail(_ side: Int) -> Bool { thumbnail == nil && (longerSide ?? 0) > side }

        func content(side: Int?, in blobs: any BlobStore) async throws(HirobaError) -> FileContent {
            let bytes = thumbnail ?? original
            guard let id = BlobID(bytes.blob) else { throw .internal("a row names the impossible blob \(bytes.blob)") }
            let source: FileContent.Source
            if let path = blobs.localPath(id) {
                source = .path(path)
            } else {
                do { source = .bytes(try await blobs.get(id)) } catch { throw HirobaError(error) }
            }
            let etag = if thumbnail != nil, let side { "\(hash)-\(side)" } else { hash }
            return FileContent(type: bytes.type, size: bytes.size, etag: etag, source: source)
        }
    }

    private func find(_ id: StoredID, side: Int?, by caller: Caller) async throws(HirobaError) -> Found {
        try await desk.read(caller) { db, visitor in
            let access = visitor.access
            let sql = Self.withThumbnail.filled(
                with: [.integer(Int64(side ?? 0)), id.sqlValue] + access.values, form: access.principals.count)
            let found = try db.first(sql) { row in
                let sides = [try row.optionalInteger(3), try row.optionalInteger(4)]
                let thumbnail: Found.Bytes? =
                    if let blob = try row.optionalText(8) {
                        Found.Bytes(type: try row.text(6), size: Int(try row.integer(7)), blob: blob)
                    } else {
                        nil
                    }
                return Found(
                    original: .init(type: try row.text(0), size: Int(try row.integer(1)), blob: try row.text(2)),
                    longerSide: sides.compactMap { $0 }.max().map { Int($0) }, hash: try row.text(5),
                    thumbnail: thumbnail)
            }
            guard let found else { throw HirobaError.notFound }
            guard side == nil || found.longerSide != nil else {
                throw HirobaError.invalid(
                    "size", Sentence(en: "Only pictures have other sizes.", ja: "サイズを指定できるのは画像だけです。"))
            }
            return found
        }
    }

    private static let withThumbnail = SQLTemplate { principals in
        """
        SELECT f.type, f.size, f.blob, f.width, f.height, f.hash, th.type, th.size, th.blob
        FROM files f LEFT JOIN thumbnails th ON th.file_id = f.id AND th.side = \(.given(.integer))
        WHERE f.id = \(.given(.text)) AND \(Access.condition(on: "f.acl_read", principals: principals))
        """
    }

    private func makeThumbnail(of file: Found, _ id: StoredID, side: Int) async throws(HirobaError) {
        let blob: StoredBlob
        let type: String
        do {
            guard let original = BlobID(file.original.blob) else { throw StoreError(.notFound, "no such blob") }
            let picture = try await pictures.thumbnail(try await blobs.get(original), size: side)
            type = picture.type
            blob = try await blobs.put(picture.bytes)
        } catch let error as PictureError {
            throw HirobaError(picture: error)
        } catch {
            throw HirobaError(error)
        }
        do {
            let isKept = try await desk.write { db in
                // The file may be gone by now, and another node may have made the same.
                guard try db.first("SELECT 1 FROM files WHERE id = \(id)", { _ in true }) == true else { return false }
                return try db.run(
                    """
                    INSERT INTO thumbnails (file_id, side, type, size, blob)
                    VALUES (\(id), \(side), \(type), \(blob.size), \(blob.id.description))
                    ON CONFLICT (file_id, side) DO NOTHING
                    """) == 1
            }
            if !isKept { await deleteBytes([blob.id.description]) }
        } catch {
            await deleteBytes([blob.id.description])
            throw error
        }
    }
}

extension HirobaError {
    fileprivate init(picture error: PictureError) {
        switch error {
        case .notAPicture: self = .noPicture
        case .tooManyPixels: self = .tooManyPixels
        case .busy: self = .busy
        case .failed(let cause): self = .unavailable("picture: \(cause)")
        }
    }
}

// MARK: - Removal

extension Files {
    /// Deletes the file with its thumbnails. Topics that show it go on without a picture.
    package func delete(_ call: DeleteFile, by caller: Caller) async throws(HirobaError) {
        let id = try StoredID(call.file)
        let now = desk.clock.now()
        let blobs = try await desk.write(caller) { db, visitor in
            let row = try db.first("SELECT acl_read, acl_write FROM files WHERE id = \(id)") { row in
                (read: AccessList(stored: try row.text(0)), write: AccessList(stored: try row.text(1)))
            }
            guard let row else { throw HirobaError.notFound }
            try visitor.mustBeAbleToChange(read: row.read, write: row.write)
            let topics = try db.rows(
                """
                UPDATE topics SET photo = NULL, updated_at = \(now), version = version + 1 WHERE photo = \(id)
                RETURNING id, version, acl_read
                """
            ) { row in
                Event(
                    .topicUpdated, try row.text(0), version: try row.integer(1), actor: visitor.member?.user,
                    read: AccessList(stored: try row.text(2)), at: now)
            }
            for event in topics { try event.append(in: db) }
            return try Self.remove(id.text, actor: visitor.member?.user, in: db, at: now)
        }
        await deleteBytes(blobs)
    }

    /// - Throws: `invalidField` for `photo`.
    static func mustBeOwnPicture(_ id: StoredID, of user: User.ID, in db: Transaction) throws {
        let isPicture = try db.first(
            "SELECT width FROM files WHERE id = \(id) AND owner = \(user.rawValue)"
        ) { row in try !row.isNull(0) }
        guard isPicture == true else { throw HirobaError.notOwnPicture }
    }

    /// Takes away the picture of a topic that is gone, unless another topic shows it.
    ///
    /// - Returns: the blobs to delete after the commit.
    static func removePictureNoLongerUsed(
        _ id: String, of owner: String, actor: User.ID?, in db: Transaction, at now: Int64
    ) throws -> [String] {
        let mayGo = try db.first(
            """
            SELECT 1 FROM files WHERE id = \(id) AND owner = \(owner)
                AND NOT EXISTS (SELECT 1 FROM topics WHERE photo = \(id))
            """
        ) { _ in true }
        return mayGo == true ? try remove(id, actor: actor, in: db, at: now) : []
    }

    private static func remove(_ id: String, actor: User.ID?, in db: Transaction, at now: Int64) throws -> [String] {
        var blobs = try db.rows("DELETE FROM thumbnails WHERE file_id = \(id) RETURNING blob") { row in try row.text(0)
        }
        let removed = try db.first("DELETE FROM files WHERE id = \(id) RETURNING blob, version, acl_read") { row in
            (blob: try row.text(0), version: try row.integer(1), read: AccessList(stored: try row.text(2)))
        }
        if let removed {
            blobs.append(removed.blob)
            try Event(.fileDeleted, id, version: removed.version + 1, actor: actor, read: removed.read, at: now)
                .append(in: db)
        }
        return blobs
    }

    /// Deletes bytes that no row names any more. What fails here is an orphan, and found as one.
    func deleteBytes(_ ids: [String]) async {
        for id in ids { if let blob = BlobID(id) { try? await blobs.delete(blob) } }
    }
}

extension HirobaError {
    static let notOwnPicture = HirobaError.invalid(
        "photo",
        Sentence(
            en: "The photo must be a picture that you have uploaded.", ja: "写真には自分がアップロードした画像を指定してください。"))
}

extension StoredID {
    /// The id of a picture to show with a topic, where a wrong one is a wrong field.
    init(photo id: StoredFile.ID) throws(HirobaError) {
        do { try self.init(id) } catch { throw .notOwnPicture }
    }
}
