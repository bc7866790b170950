package import HirobaStore
internal import HirobaThreads

/// The rules of the forum. Surfaces call it, one call each; it calls the store.
///
/// Open the database with `Schema.migrations`, make one `Core` for it and have its `run()` going while it is used.
package final class Core: Sendable {
    package struct Options: Sendable {
        package var limits = Limits()
        /// How often leftovers are looked for.
        package var maintenanceEvery = Duration.seconds(600)
        /// What pushes are sent by. Without it they wait until a program that has it works on the same database.
        package var push: PushOptions?
        /// Hears of what went wrong where no caller waits for an answer.
        package var report: @Sendable (HirobaError) -> Void = { _ in }

        package init() {}
    }

    package let accounts: Accounts
    package let files: Files
    package let community: Community
    package let events: Events
    package let push: Push
    private let outbox: Outbox?
    let desk: Desk
    private let options: Options

    package init(
        database: Database, blobs: any BlobStore, pictures: any PictureMaker, clock: Clock = .system,
        options: Options = Options()
    ) {
        desk = Desk(database: database, clock: clock, limits: options.limits)
        accounts = Accounts(
            desk: desk,
            hashing: WorkerPool(
                name: "hash", threads: options.limits.hashingThreads, queue: options.limits.hashingQueue))
        files = Files(desk: desk, blobs: blobs, pictures: pictures)
        community = Community(desk: desk, files: files)
        events = Events(desk: desk, feed: Feed(desk: desk, report: options.report))
        push = Push(desk: desk)
        outbox = options.push.map { [desk] push in Outbox(desk: desk, options: push, report: options.report) }
        self.options = options
    }

    /// Tells live streams what happens, sends pushes and clears leftovers away, until the task is cancelled. Then all live
    /// streams end.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.events.feed.run() }
            if let outbox { group.addTask { await outbox.run() } }
            while !Task.isCancelled {
                do { try await maintain() } catch { options.report(HirobaError(error)) }
                if (try? await Task.sleep(for: options.maintenanceEvery)) == nil { break }
            }
        }
    }

    /// Removes what has expired or was left over. May run on several nodes at once.
    package func maintain() async throws(HirobaError) {
        try await events.checkHistory()
        try await accounts.pruneSessions()
        try await Repeatable.prune(accounts.desk)
        try await events.prune()
        try await push.prune()
        try await community.pruneRemovedTopics()
        try await files.collectOrphansWhenDue()
    }
}
