internal import HirobaStore
internal import HirobaThreads

/// Bytes that no row names: what a crash leaves between the one and the other.
///
/// An upload that is being written looks the same for a while. So what has no row is only noted at first, and deleted
/// when it still has none much later; a restart forgets the notes and costs nothing but time.
final class Orphans: Sendable {
    private let firstSeen = Lock<[BlobID: Int64]>([:])
    private let lastLook = Lock<Int64?>(nil)

    /// Whether it is time to look again. The first time is one interval after the start, which is busy enough.
    func isDue(at now: Int64, every interval: Duration) -> Bool {
        lastLook.withLock { lastLook in
            let last = lastLook ?? now
            let isDue = now - last >= interval.milliseconds
            lastLook = isDue ? now : last
            return isDue
        }
    }

    /// - Parameter nameless: all blobs without a row at this moment.
    /// - Returns: those that had none `age` ago either.
    func due(_ nameless: [BlobID], at now: Int64, age: Duration) -> [BlobID] {
        firstSeen.withLock { firstSeen in
            let earlier = firstSeen
            firstSeen = [:]
            var due: [BlobID] = []
            for blob in nameless {
                let since = earlier[blob] ?? now
                if now - since >= age.milliseconds { due.append(blob) } else { firstSeen[blob] = since }
            }
            return due
        }
    }
}

extension Files {
    func collectOrphansWhenDue() async throws(HirobaError) {
        guard orphans.isDue(at: desk.clock.now(), every: desk.limits.orphansEvery) else { return }
        try await collectOrphans()
    }

    /// Deletes bytes that have had no row for longer than any upload takes.
    ///
    /// - Returns: how many were deleted.
    @discardableResult
    package func collectOrphans() async throws(HirobaError) -> Int {
        let now = desk.clock.now()
        do {
            var nameless: [BlobID] = []
            var rest = try await blobs.list()[...]
            while !rest.isEmpty {
                let some = rest.prefix(200)
                rest = rest.dropFirst(200)
                let ids = some.map(\.description)
                let named = try await desk.read { db in
                    let files = try db.rows("SELECT blob FROM files WHERE \(SQL.isAny("blob", of: ids))") { row in
                        try row.text(0)
                    }
                    return try files
                        + db.rows("SELECT blob FROM thumbnails WHERE \(SQL.isAny("blob", of: ids))") { row in
                            try row.text(0)
                        }
                }
                let known = Set(named)
                nameless += some.filter { !known.contains($0.description) }
            }
            let due = orphans.due(nameless, at: now, age: desk.limits.orphanAge)
            for blob in due { try await blobs.delete(blob) }
            return due.count
        } catch {
            throw HirobaError(error)
        }
    }
}
