internal import HirobaCrypto
package import HirobaStore

/// Sends what is to be told, and writes down how it went.
///
/// It works in rounds (`OutboxRound`), each one transaction: the verdicts since the last, then new work. In between,
/// messages are on their way to the gateway. What was claimed is in hand until its verdict is committed; what a process
/// that was killed had in hand is sent again by the next one, so that is also how many may arrive twice.
package actor Outbox {
    /// Signalled by what has to be told.
    static let signal = "push"

    private let desk: Desk
    private let options: PushOptions
    private let report: @Sendable (HirobaError) -> Void
    /// Fences this worker's verdicts off from those of whoever took its deliveries over.
    private let worker = ObjectID.random()

    private var inHand: Set<String> = []
    private var answers: [OutboxRound.Answer] = []
    private var nextHeld: Int64 = 0
    private var hasMore = false
    /// When this worker was last shown to live, and when it last looked after what others left.
    private var shownAt: Int64?
    private var lookedAt: Int64?
    private var mustRelease = true
    private var isStopping = false

    private var bell: AsyncStream<Void>.Continuation?
    private var alarm: Task<Void, Never>?

    init(desk: Desk, options: PushOptions, report: @escaping @Sendable (HirobaError) -> Void) {
        self.desk = desk
        self.options = options
        self.report = report
    }

    package init(
        database: Database, clock: Clock = .system, limits: Limits = Limits(), options: PushOptions,
        report: @escaping @Sendable (HirobaError) -> Void = { _ in }
    ) {
        self.init(desk: Desk(database: database, clock: clock, limits: limits), options: options, report: report)
    }

    /// Works until the task is cancelled or the database closed.
    package func run() async {
        let (bells, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.bell = bell
        (shownAt, lookedAt, mustRelease, isStopping) = (nil, nil, true, false)
        let ringing = Task { [database = desk.database, bell] in
            for await _ in database.signals(Self.signal) { bell.yield() }
            bell.finish()
        }
        for await _ in bells { await work() }
        ringing.cancel()
        isStopping = true
        // This task can wait for nothing any more when it is cancelled.
        await Task { await self.finish() }.value
    }

    // MARK: - Rounds

    /// Rounds until there is nothing to do but wait: for an answer, for what happens next, or for the alarm.
    private func work() async {
        while !Task.isCancelled {
            guard await turn() else { return ring(in: Self.pauseAfterFailure) }
            if !hasMore { return }
        }
    }

    private static let pauseAfterFailure: Int64 = 1000

    /// One round. False when it failed; nothing is lost then, and the answers are kept for the next.
    private func turn() async -> Bool {
        let now = desk.clock.now()
        do {
            try await lookAfterOthers(at: now)
            let round = round(at: now)
            let result = try await desk.database.claim { db in try round.run(in: db) }
            answers.removeFirst(round.answers.count)
            for answer in round.answers { inHand.remove(answer.attempt.delivery) }
            if round.showsLife { shownAt = now }
            nextHeld = result.nextHeld
            hasMore = result.hasMore
            for claim in result.claims { send(claim) }
            if let pause = pause(result, at: now) { ring(in: pause) }
            return true
        } catch {
            // The claim may have been committed all the same.
            lookedAt = nil
            report(HirobaError(error))
            return false
        }
    }

    private func round(at now: Int64) -> OutboxRound {
        let room = isStopping ? 0 : desk.limits.deliveriesInHand - inHand.count + answers.count
        return OutboxRound(
            worker: worker, now: now, answers: answers, room: min(room, desk.limits.chunk),
            budget: isStopping ? 0 : desk.limits.chunk,
            showsLife: isShared && now - (shownAt ?? 0) >= PushWorkers.showsLifeEvery, publicURL: options.publicURL,
            nextHeld: nextHeld)
    }

    private var isShared: Bool { desk.database.dialect == .postgres }

    private func send(_ claim: OutboxRound.Claim) {
        inHand.insert(claim.attempt.delivery)
        Task {
            let verdict = await options.gateway.send(claim.message, to: claim.attempt.address)
            answers.append(OutboxRound.Answer(attempt: claim.attempt, verdict: verdict))
            bell?.yield()
        }
    }

    // MARK: - Waiting

    /// How long until something can be done without anybody ringing; nil for ever.
    private func pause(_ result: OutboxRound.Result, at now: Int64) -> Int64? {
        var pause: Int64?
        if let due = result.nextDue, inHand.count < desk.limits.deliveriesInHand {
            // What is due and was not claimed is being claimed by another worker. The longest pause bounds how long a
            // clock that was set right is not noticed.
            pause = min(max(due - now, 100), 30_000)
        }
        guard isShared else { return pause }
        return min(pause ?? .max, inHand.isEmpty ? PushWorkers.looksEvery : PushWorkers.showsLifeEvery)
    }

    private func ring(in milliseconds: Int64) {
        alarm?.cancel()
        alarm = Task { [bell] in
            if (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil { bell?.yield() }
        }
    }

    // MARK: - Beginning and end

    /// Takes over what workers that are gone had in hand, when the last look at that is some time ago. The first look also
    /// tries what was held: what had to be repaired may have been, before the program was started again.
    private func lookAfterOthers(at now: Int64) async throws {
        if let lookedAt, !isShared || now - lookedAt < PushWorkers.looksEvery { return }
        let (worker, inHand) = (worker, inHand)
        try await desk.database.claim { db in
            try PushWorkers.putBack(by: worker, except: inHand, in: db, at: now)
        }
        try await inChunks { db, most in try PushWorkers.takeOver(by: worker, most: most, in: db, at: now) }
        if mustRelease { try await inChunks { db, most in try PushWorkers.releaseHeld(most: most, in: db, at: now) } }
        mustRelease = false
        lookedAt = now
    }

    private func inChunks(_ body: @escaping @Sendable (Transaction, _ most: Int) throws -> Int) async throws {
        let most = desk.limits.chunk
        while try await desk.database.claim({ db in try body(db, most) }) == most {}
    }

    /// Writes down what is answered within a moment. The rest is sent again by whoever comes next.
    private func finish() async {
        let end = ContinuousClock.now + .seconds(1)
        while !inHand.isEmpty, ContinuousClock.now < end {
            if answers.isEmpty {
                try? await Task.sleep(for: .milliseconds(5))
            } else if await !turn() {
                break
            }
        }
        alarm?.cancel()
        _ = try? await desk.database.claim { [worker] db in try PushWorkers.leave(worker, in: db) }
    }
}
