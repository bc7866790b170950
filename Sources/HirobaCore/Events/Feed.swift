internal import HirobaStore

/// Reads the tail of the spine, once for the whole process, and tells every subscriber what is for them.
actor Feed {
    /// A live stream: who listens, and to what.
    struct Subscriber {
        let mailbox: Mailbox
        let access: Access
        /// The session the listener came by; with its end the stream ends.
        let session: String?
        /// Nil for everything.
        let topic: String?
        /// The listener knows everything up to here.
        var after: Position

        func wants(_ news: News) -> Bool {
            (topic == nil || topic == news.topic) && after < news.position && news.mayBeTold(to: access)
        }
    }

    private let desk: Desk
    private let report: @Sendable (HirobaError) -> Void
    /// Everything up to here has been told. Nil while nobody listens: the first listener begins where the table ends.
    private var place: (epoch: String, position: Position)?
    private var subscribers: [Subscriber] = []
    private var heldBackSince: ContinuousClock.Instant?
    private var isStopped = false

    init(desk: Desk, report: @escaping @Sendable (HirobaError) -> Void) {
        self.desk = desk
        self.report = report
    }

    /// How long events have been waiting for a transaction that is older than they are. More than seconds means that
    /// something in the database cluster keeps one open.
    var lag: Duration { heldBackSince.map { .now - $0 } ?? .zero }

    // MARK: Subscribers

    /// From now on the mailbox is filled.
    ///
    /// - Returns: the place up to which everything was told before.
    func add(
        _ mailbox: Mailbox, access: Access, session: String?, topic: String?
    ) async throws(HirobaError) -> (epoch: String, position: Position) {
        if place == nil {
            let found = try await look()
            // Somebody else may have looked meanwhile, and gone on from there.
            if place == nil { place = found }
        }
        guard let place, !isStopped else { throw .unavailable("the feed has stopped") }
        subscribers.removeAll { $0.mailbox.isClosed }
        guard subscribers.count < desk.limits.liveStreams else { throw .busy }
        subscribers.append(
            Subscriber(mailbox: mailbox, access: access, session: session, topic: topic, after: place.position))
        // What was committed after the look was not told while nobody listened.
        if subscribers.count == 1 {
            desk.database.wake(Self.listening)
            desk.database.wake(Event.signal)
        }
        return place
    }

    /// The listener has been told by somebody else up to `position`, on another node perhaps.
    func skip(_ mailbox: Mailbox, to position: Position) {
        guard let index = subscribers.firstIndex(where: { $0.mailbox === mailbox }) else { return }
        subscribers[index].after = max(subscribers[index].after, position)
    }

    /// Somebody listens.
    private static let listening = "listening"

    // MARK: Telling

    /// Follows the spine until the task is cancelled or the database closed. Then all subscriptions end.
    func run() async {
        isStopped = false
        // While nobody listens no signal wakes it: that would cost every write a change of threads.
        for await _ in desk.database.signals(Self.listening) where !subscribers.isEmpty {
            for await _ in desk.database.signals(Event.signal) {
                await catchUp()
                if subscribers.isEmpty { break }
            }
        }
        isStopped = true
        for subscriber in subscribers { subscriber.mailbox.close() }
        subscribers = []
    }

    /// Tells everything there is to tell now.
    private func catchUp() async {
        var pause = Duration.milliseconds(20)
        while !Task.isCancelled {
            do {
                switch try await tellSome() {
                case .everything:
                    heldBackSince = nil
                    return
                case .some:
                    heldBackSince = nil
                    continue
                case .rest:
                    // Committed, but not to be told before an older transaction has ended; nothing will signal that.
                    heldBackSince = heldBackSince ?? .now
                    try await Task.sleep(for: pause)
                    pause = min(pause * 2, .seconds(1))
                }
            } catch let error as HirobaError {
                report(error)
                try? await Task.sleep(for: .seconds(1))
            } catch { return }
        }
    }

    private enum Told { case everything, some, rest }

    private static let batch = 200

    private func tellSome() async throws -> Told {
        subscribers.removeAll { $0.mailbox.isClosed }
        // Reading what nobody hears would cost every write a third of its time.
        guard !subscribers.isEmpty else {
            place = nil
            return .everything
        }
        guard let place else {
            let found = try await look()
            if self.place == nil { self.place = found }
            return .some
        }
        let batch = try await desk.read { db in
            let history = try Spine.history(in: db)
            guard history.epoch == place.epoch, history.floor <= place.position else { return Batch?.none }
            let entries = try Spine.entries(after: place.position, most: Self.batch, in: db)
            return Batch(
                entries: entries, news: try News.read(entries, epoch: place.epoch, in: db),
                hasHeldBack: try Spine.hasHeldBack(after: entries.last?.position ?? place.position, in: db))
        }
        guard let batch else {
            // Another history, or so far behind that part of this one is gone: nobody knows what was missed.
            let found = try await look()
            self.place = found
            for index in subscribers.indices {
                subscribers[index].after = found.position
                subscribers[index].mailbox.put(.resync(at: found.position, found.epoch))
            }
            return .some
        }
        tell(batch)
        if batch.entries.count == Self.batch { return .some }
        return batch.hasHeldBack ? .rest : .everything
    }

    private struct Batch: Sendable {
        let entries: [Spine.Entry]
        let news: [News]
        let hasHeldBack: Bool
    }

    /// Not interrupted by anything: whoever is added is added before the whole batch or after it.
    private func tell(_ batch: Batch) {
        guard let last = batch.entries.last else { return }
        place?.position = last.position
        guard !subscribers.isEmpty else { return }
        var news = batch.news[...]
        for entry in batch.entries {
            if let next = news.first, next.position == entry.position {
                news.removeFirst()
                for subscriber in subscribers where subscriber.wants(next) { subscriber.mailbox.put(next.event) }
            } else if entry.event.kind == .sessionEnded {
                for subscriber in subscribers where subscriber.session == entry.event.subject {
                    subscriber.mailbox.close()
                }
            }
        }
        subscribers.removeAll { $0.mailbox.isClosed }
    }

    private func look() async throws(HirobaError) -> (epoch: String, position: Position) {
        try await desk.read { db in (try Spine.history(in: db).epoch, try Spine.head(in: db)) }
    }
}
