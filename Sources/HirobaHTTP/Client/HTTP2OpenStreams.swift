/// The streams that are open on one connection, in the order in which they were opened, which is also that of their numbers
/// and of their deadlines. So finding one is a subtraction.
struct HTTP2OpenStreams<Request> {
    private struct Entry {
        let request: Request
        let deadline: UInt64
    }

    /// From the oldest that is open; closed ones in between are `nil`.
    private var entries = Deque<Entry?>()
    /// The number that the next stream gets: a client's are odd (RFC 9113 section 5.1.1).
    private(set) var nextStream: Int32 = 1
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// RFC 9113 section 5.1.1: when the numbers are used up, so is the connection.
    var isExhausted: Bool { nextStream > Int32.max - 2 }

    mutating func open(_ request: Request, deadline: UInt64) -> Int32 {
        defer { nextStream += 2 }
        entries.append(Entry(request: request, deadline: deadline))
        count += 1
        return nextStream
    }

    mutating func take(_ stream: Int32) -> Request? {
        guard stream & 1 == 1, stream < nextStream else { return nil }
        let index = entries.count - Int(nextStream - stream) / 2
        guard index >= 0, let entry = entries[index] else { return nil }
        entries[index] = nil
        count -= 1
        trim()
        return entry.request
    }

    /// Those with a greater number, oldest first.
    mutating func take(above stream: Int32) -> [Request] {
        var taken: [Request] = []
        guard stream < nextStream else { return taken }
        var next = max(stream + 1 | 1, first?.stream ?? nextStream)
        while next < nextStream {
            if let request = take(next) { taken.append(request) }
            next += 2
        }
        return taken
    }

    /// The oldest, and by when its answer is due.
    var first: (stream: Int32, deadline: UInt64)? {
        guard case .some(.some(let entry)) = entries.first else { return nil }
        return (nextStream - Int32(entries.count) * 2, entry.deadline)
    }

    private mutating func trim() {
        while case .some(.none) = entries.first { _ = entries.popFirst() }
    }

    /// For tests: a connection that has served a billion requests.
    mutating func skip(to stream: Int32) { nextStream = stream }
}

/// A queue with both ends cheap.
struct Deque<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var count: Int { elements.count - start }
    var isEmpty: Bool { start == elements.count }
    var first: Element? { start < elements.count ? elements[start] : nil }

    /// - Parameter index: from the first on, less than `count`.
    subscript(_ index: Int) -> Element {
        get {
            // Like that of an array: outside of it is a mistake of ours. Only what was taken out is empty.
            guard let element = elements[start + index] else { preconditionFailure("a queue with a hole") }
            return element
        }
        set { elements[start + index] = newValue }
    }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start]
        elements[start] = nil
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: true)
            start = 0
        } else if start >= 1024, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }
}
