public import HirobaContract
import HirobaJSON

/// Something that happened, or a word about the stream itself.
public struct LiveEvent: Sendable {
    /// What happened.
    public enum Content: Sendable {
        /// The stream has begun, or begun again after a loss.
        case ready
        /// What happened in between cannot be told any more: load again what is shown.
        case resync
        /// A topic was begun.
        case topicCreated(Topic)
        /// A topic was deleted.
        case topicDeleted(Topic.ID)
        /// Somebody commented.
        case commentCreated(Comment)
        /// A comment was deleted.
        case commentDeleted(Comment.ID, topic: Topic.ID?)
        /// Something that this version does not know.
        case other
    }

    /// The event's name.
    public var name: LiveEventName
    /// What happened.
    public var content: Content
    /// The position in the feed after this event.
    public var position: String?
    /// The data as it came.
    public var data: String

    init(_ event: EventStreamParser.Event) {
        name = LiveEventName(rawValue: event.name)
        position = event.id
        data = event.data
        content = Self.content(name, Array(event.data.utf8)) ?? .other
    }

    private static func content(_ name: LiveEventName, _ data: [UInt8]) -> Content? {
        func read<T: Decodable>(_ type: T.Type) -> T? { try? JSONCoding.decode(type, from: data) }
        return switch name {
        case .ready: .ready
        case .resync: .resync
        case .topicCreated: read(Topic.self).map { .topicCreated($0) }
        case .topicDeleted: read(Deleted.self).map { .topicDeleted(Topic.ID($0.id)) }
        case .commentCreated: read(Comment.self).map { .commentCreated($0) }
        case .commentDeleted: read(Deleted.self).map { .commentDeleted(Comment.ID($0.id), topic: $0.topic) }
        default: nil
        }
    }
}

/// What happens on the server, as it happens. When the connection is lost it is made again, and the stream goes on
/// after the last event that was seen. It ends when the task is cancelled, and with an error when the server refuses
/// it.
public struct LiveEvents: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = LiveEvent

    let client: APIClient<HirobaAPI>
    let call: Live
    let position: String?
    let delays: LiveDelays

    /// Gets ready; the first `next` connects.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: client, call: call, delays: delays, position: position)
    }

    /// Walks through the events.
    public struct Iterator: AsyncIteratorProtocol {
        private let client: APIClient<HirobaAPI>
        private let call: Live
        private let delays: LiveDelays
        private var position: String?
        private var body: TransportBody?
        private var parser = EventStreamParser()
        private var waiting: ArraySlice<EventStreamParser.Event> = []
        private var losses = 0

        init(client: APIClient<HirobaAPI>, call: Live, delays: LiveDelays, position: String?) {
            self.client = client
            self.call = call
            self.delays = delays
            self.position = position
        }

        /// The next event; nil when the task is cancelled.
        public mutating func next() async throws -> LiveEvent? {
            while !Task.isCancelled {
                if let event = waiting.popFirst() {
                    position = event.id ?? position
                    return LiveEvent(event)
                }
                switch await failureOfReading() {
                case nil: break
                case .cancelled: return nil
                case .network:
                    body = nil
                    losses += 1
                    let wait = delays.wait(afterLoss: losses, asked: parser.retryMilliseconds)
                    try? await Task.sleep(for: wait)  // Cut short only by a cancellation, which the loop sees.
                case .some(let failure): throw failure
                }
            }
            return nil
        }

        private mutating func failureOfReading() async -> ClientError? {
            do {
                try await read()
                return nil
            } catch {
                return error
            }
        }

        private mutating func read() async throws(ClientError) {
            guard let body else {
                var call = HirobaCall<Live, NoContent>(call)
                call.lastEventID = position
                var request = try call.request(for: client.api)
                request.headers["Accept"] = "text/event-stream"
                self.body = try await client.answer(to: request).body
                parser = EventStreamParser()
                return
            }
            guard let part = try await nextPart(of: body) else {
                throw .network(NetworkFailure(.lost, "The stream ended"))
            }
            do {
                waiting = try parser.take(part)[...]
            } catch {
                throw .network(NetworkFailure(.other, "The stream holds a line that is too long"))
            }
            if !waiting.isEmpty { losses = 0 }
        }

        /// The iterators of a stream share its content, so one for each part does.
        private func nextPart(of body: TransportBody) async throws(ClientError) -> [UInt8]? {
            do {
                for try await part in body { return part }
                return nil
            } catch {
                throw ClientError(transport: error)
            }
        }
    }
}

/// How long to wait before a lost stream is taken up again.
struct LiveDelays: Sendable {
    var first: Duration = .seconds(1)
    var longest: Duration = .seconds(30)

    /// Twice as long after each loss, and a random share of it, so that a server that comes back is not met by
    /// everybody at once.
    func wait(afterLoss losses: Int, asked milliseconds: Int?) -> Duration {
        let base = milliseconds.map { Duration.milliseconds(min($0, 60_000)) } ?? first
        let doubled = min(base * (1 << min(losses - 1, 10)), max(longest, base))
        return doubled * Double.random(in: 0.5...1)
    }
}

extension HirobaClient {
    /// Hears what happens.
    ///
    /// - Parameters:
    ///   - call: all of it, or one topic.
    ///   - position: the last event that was seen before, to go on after it.
    public func live(_ call: Live = Live(), after position: String? = nil) -> LiveEvents {
        LiveEvents(client: client, call: call, position: position, delays: liveDelays)
    }
}
