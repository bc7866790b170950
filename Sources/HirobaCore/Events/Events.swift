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
        let start = try await feed.add(mailbox, access: access, session: session, topic: topic?.text)
        // Once more with the caller: the session may have ended before the feed knew that somebody listens by it.
        let limits = desk.limits
        let missed = try await desk.read(caller) { db, _ in
            try position.map { try Missed($0, until: start, limits, in: db) } ?? .nothing
        }
        switch missed {
        case .nothing:
            mailbox.begin(with: [.ready(at: start.position.text(of: start.epoch))])
        case .ahead(let position):
            await feed.skip(mailbox, to: position)
            mailbox.begin(with: [.ready(at: position.text(of: start.epoch))])
        case .news(let news):
            let told = news.filter { (topic == nil || topic?.text == $0.topic) && $0.mayBeTold(to: access) }
            mailbox.begin(with: [.ready(at: position ?? "")] + told.map(\.event))
        case .unknown:
            let id = start.position.text(of: start.epoch)
            mailbox.begin(with: [.ready(at: id), .resync(at: id)])
        }
        return stream
    }

    /// How long the oldest event that cannot be told yet has been waiting.
    package var lag: Duration { get async { await feed.lag } }

    private enum Missed: Sendable {
        case nothing
        case news([News])
        /// The caller has heard more, from another node, than this one has read.
        case ahead(Position)
        /// The position is not ours, too old, or too much has happened since.
        case unknown

        init(_ text: String, until start: (epoch: String, position: Position), _ limits: Limits, in db: Transaction)
            throws
        {
            let history = try Spine.history(in: db)
            guard history.epoch == start.epoch, let position = Position(text, of: history.epoch),
                position >= history.floor
            else {
                self = .unknown
                return
            }
            if position > start.position {
                self = try Spine.exists(position, in: db) ? .ahead(position) : .unknown
                return
            }
            let entries = try Spine.entries(after: position, most: limits.liveReplay + 1, in: db)
                .prefix { $0.position <= start.position }
            guard entries.count <= limits.liveReplay else {
                self = .unknown
                return
            }
            self = .news(try News.read(Array(entries), epoch: history.epoch, in: db))
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
