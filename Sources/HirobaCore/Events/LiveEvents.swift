package import HirobaContract
internal import HirobaThreads

/// Something that happened, ready to be sent.
package struct LiveEvent: Sendable {
    package let name: LiveEventName
    /// Where in the spine this is. Whoever lost the connection asks to go on from here.
    package let id: String
    /// JSON: the item, or what is left to say of it. Shared by all who are told.
    package let data: [UInt8]
    let position: Position

    init(_ name: LiveEventName, at position: Position, _ epoch: String, data: [UInt8]) {
        self.name = name
        self.position = position
        self.data = data
        id = position.text(of: epoch)
    }
}

/// What one subscriber is told, for as long as somebody iterates. Letting go of it ends the subscription.
///
/// A subscriber that is slower than events happen is not waited for: what it has not taken is dropped, and `resync` tells
/// it to load everything again.
package struct LiveEvents: AsyncSequence, Sendable {
    /// Ends the mailbox with the last copy of the sequence and its iterators.
    fileprivate final class Subscription: Sendable {
        let mailbox: Mailbox
        init(_ mailbox: Mailbox) { self.mailbox = mailbox }
        deinit { mailbox.close() }
    }

    fileprivate let subscription: Subscription

    init(_ mailbox: Mailbox) { subscription = Subscription(mailbox) }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription

        /// Nil when the subscription is over: the session that opened it has ended, the core stops, or the task is cancelled.
        package mutating func next() async -> LiveEvent? { await subscription.mailbox.next() }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }
}

/// The events that wait for one subscriber. Filled by the feed, emptied by the stream's task.
final class Mailbox: Sendable {
    private struct State {
        var events: [LiveEvent] = []
        /// How many of `events` were taken already.
        var taken = 0
        var isClosed = false
        var waiting: CheckedContinuation<LiveEvent?, Never>?

        mutating func take() -> LiveEvent? {
            guard taken < events.count else { return nil }
            let event = events[taken]
            taken += 1
            if taken == events.count { (events, taken) = ([], 0) }
            return event
        }
    }

    private let state: Lock<State>
    private let most: Int

    /// - Parameter most: how many events may wait.
    init(most: Int) {
        state = Lock(State())
        self.most = most
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Puts events before those that wait already, of which those up to `position` are dropped. Called once, before
    /// anybody takes any.
    func begin(with events: [LiveEvent], after position: Position) {
        state.withLock { state in
            state.events.removeAll { $0.position <= position }
            state.events.insert(contentsOf: events, at: 0)
        }
    }

    /// Hands the event over. When too many wait already, all of them are replaced by one `resync` from here.
    func put(_ event: LiveEvent) {
        let waiting = state.withLock { state -> CheckedContinuation<LiveEvent?, Never>? in
            guard !state.isClosed else { return nil }
            if let waiting = state.waiting {
                state.waiting = nil
                return waiting
            }
            if state.events.count - state.taken >= most {
                state.events = [LiveEvent(resyncInsteadOf: event)]
                state.taken = 0
            } else {
                state.events.append(event)
            }
            return nil
        }
        waiting?.resume(returning: event)
    }

    /// Drops what waits; `next` answers nil from now on.
    func close() {
        let waiting = state.withLock { state -> CheckedContinuation<LiveEvent?, Never>? in
            state.isClosed = true
            (state.events, state.taken) = ([], 0)
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: nil)
    }

    func next() async -> LiveEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: LiveEvent?? = state.withLock { state in
                    if state.isClosed { return .some(nil) }
                    if let event = state.take() { return event }
                    // Two iterators of one subscription: each event is for one of them, and the earlier waiter gives up.
                    if state.waiting != nil { return .some(nil) }
                    state.waiting = continuation
                    return .none
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            close()
        }
    }
}

extension LiveEvent {
    static func ready(at position: Position, _ epoch: String) -> LiveEvent {
        LiveEvent(.ready, at: position, epoch, data: emptyObject)
    }

    static func resync(at position: Position, _ epoch: String) -> LiveEvent {
        LiveEvent(.resync, at: position, epoch, data: emptyObject)
    }

    fileprivate init(resyncInsteadOf event: LiveEvent) {
        (name, id, position, data) = (.resync, event.id, event.position, Self.emptyObject)
    }

    private static let emptyObject = Array("{}".utf8)
}
