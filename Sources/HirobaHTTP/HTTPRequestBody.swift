/// Why a request body did not arrive whole.
package enum HTTPBodyError: Error, Hashable, Sendable {
    /// More bytes than the handler said it would hold. Answer 413.
    case tooLarge
    /// The client went away.
    case disconnected
    /// The client sent slower than `HTTPLimits.bodyMinimumRate`. The engine answers 408 unless the handler answers 4xx.
    case tooSlow
    /// The chunks were not well formed. The engine answers 400 unless the handler answers 4xx.
    case malformed
}

/// The body of a request: pieces in the order they arrive, to be iterated once.
///
/// Reading is what makes the engine read: while nobody asks for the next piece the client is held back by its own
/// socket (HTTP/1.1) or window (HTTP/2). A client that waits for `100 Continue` gets it at the first read.
package struct HTTPRequestBody: AsyncSequence, Sendable {
    package typealias Element = [UInt8]
    package typealias Failure = any Error

    fileprivate enum Content {
        case bytes([UInt8])
        case source(any HTTPBodySource)
    }

    fileprivate let content: Content
    /// How many bytes the client announced; `nil` when it did not say. Nothing is held in memory on the strength of it.
    package let length: Int?

    /// No body.
    package static let empty = HTTPRequestBody([])

    /// A body that is already here.
    package init(_ bytes: [UInt8]) {
        content = .bytes(bytes)
        length = bytes.count
    }

    /// A body that comes from somewhere.
    package init(source: any HTTPBodySource, length: Int?) {
        content = .source(source)
        self.length = length
    }

    /// The whole body, held in memory.
    /// - Throws: `.tooLarge` as soon as an announced or received length passes `limit`, without reading the rest.
    package func collect(upTo limit: Int) async throws(HTTPBodyError) -> [UInt8] {
        if let length, length > limit { throw .tooLarge }
        switch content {
        case .bytes(let bytes):
            return bytes
        case .source(let source):
            guard var all = try await source.next() else { return [] }
            while true {
                if all.count > limit { throw .tooLarge }
                guard let more = try await source.next() else { return all }
                all.append(contentsOf: more)
            }
        }
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        private var content: Content?

        fileprivate init(_ content: Content) { self.content = content }

        package mutating func next() async throws -> [UInt8]? {
            switch content {
            case nil:
                return nil
            case .bytes(let bytes):
                content = nil
                return bytes.isEmpty ? nil : bytes
            case .source(let source):
                if let piece = try await source.next() { return piece }
                content = nil
                return nil
            }
        }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(content) }
}

/// Where the pieces of a body come from. A piece is never empty; after `nil` or an error nothing more comes.
package protocol HTTPBodySource: Sendable {
    func next() async throws(HTTPBodyError) -> [UInt8]?
}
