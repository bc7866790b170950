package import HirobaContract
internal import HirobaCrypto
internal import HirobaStore

/// What happens, told as it happens.
package struct Events: Sendable {
    let desk: Desk
    let feed: Feed

    /// Everything that happens from now on, or from `position` on when that is still known, as far as the caller may
    /// see it.
    ///
    /// The first event is `ready`. It is followed by `resync` when the position is too old or not ours: part of what
    /// happened cannot be told any more, and everything should be loaded again.
    package func subscribe(
        _ call: Live, from position: String?, by caller: Caller
    ) async throws(HirobaError) -> LiveEvents {
        let topic = try call.topic.map { id throws(HirobaError) in try StoredID(id) }
        let (access, session) = try await desk.read(caller) { db, visitor in
            if let topic { _ = try Community.topic(topic.text, visitor, in: db) }
            return (visitor.access, visitor.member?.session.id)
        }
        let mailbox = Mailbox(most: desk.limits.liveBuffer)
        let stream = LiveEvents(mailbox)
        let told = try await feed.add(mailbox, access: access, session: session, topic: topic?.text)
        // Once more with the caller: the session may have ended before the feed knew that somebody listens by it.
        let limits = desk.limits
        let beginning = try await desk.read(caller) { db, _ in
            try Beginning(from: position, toldUntil: told, limits, in: db)
        }
        // What the feed has put into the mailbox since then and is told here, or was known before, is told once.
        await feed.skip(mailbox, to: beginning.until)
        let missed = beginning.missed.filter { (topic == nil || topic?.text == $0.topic) && $0.mayBeTold(to: access) }
        let first = [LiveEvent.ready(at: beginning.from, told.epoch)]
        let resync = beginning.isUnknown ? [LiveEvent.resync(at: beginning.from, told.epoch)] : []
        mailbox.begin(with: first + resync + missed.map(\.event), after: beginning.until)
        return stream
    }

    /// How long the oldest event that cannot be told yet has been waiting.
    package var lag: Duration { get async { await feed.lag } }

    /// Where a stream takes up.
    private struct Beginning: Sendable {
        /// What the listener knows.
        var from: Position
        /// What happened since, up to `until`.
        var missed: [News] = []
        var until: Position
        /// The position asked for is not ours or too old, or too much has happened since.
        var isUnknown = false

        init(
            from text: String?, toldUntil told: (epoch: String, position: Position), _ limits: Limits,
            in db: Transaction
        ) throws {
            let history = try Spine.history(in: db)
            guard history.epoch == told.epoch else {
                // The feed will notice as well and tell everyone.
                (from, until, isUnknown) = (told.position, told.position, true)
                return
            }
            let now = max(told.position, try Spine.head(in: db))
            (from, until) = (now, now)
            guard let text else { return }
            isUnknown = true
            guard let position = Position(text, of: history.epoch), position >= history.floor else { return }
            if position > now {
                // Heard from another node that has read further than this one can.
                guard try Spine.exists(position, in: db) else { return }
                (from, until) = (position, position)
            } else {
                let entries = try Spine.entries(after: position, most: limits.liveReplay + 1, in: db)
                guard entries.count <= limits.liveReplay else { return }
                missed = try News.read(entries, epoch: history.epoch, in: db)
                (from, until) = (position, entries.last?.position ?? position)
            }
            isUnknown = false
        }
    }

    /// Removes events nobody can resume from any more.
    func prune() async throws(HirobaError) {
        let before = desk.clock.now() - desk.limits.events.milliseconds
        try await desk.inChunks { db, most in try Spine.prune(before: before, most: most, in: db) }
    }

    /// To be called once after a restore from a backup: what clients remember of the old history means nothing now.
    package func beginNewEpoch() async throws(HirobaError) {
        let epoch = ObjectID.random()
        _ = try await desk.write { db in try Spine.beginNewEpoch(epoch, in: db) }
    }

    /// Notices a database that was filled by another server, and begins a new history if so.
    func checkHistory() async throws(HirobaError) {
        if try await desk.read({ db in try Spine.isFromAnotherServer(in: db) }) { try await beginNewEpoch() }
    }
}
