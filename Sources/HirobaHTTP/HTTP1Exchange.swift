/// What is going on between a request and the end of its answer on an HTTP/1.1 connection.
struct HTTP1Exchange {
    /// Tells apart the requests of a connection, so that a body or a writer that outlived its request does no harm.
    var number: UInt64 = 0

    /// Whether the handler may read the body.
    var isBodyOpen = false
    /// The client waits for `100 Continue`.
    var owesContinue = false
    /// Why the rest of the body will not come.
    var bodyFailure: HTTPBodyError?
    var bodyRefusal: HTTP1Refusal?
    var receivedBytes: UInt64 = 0
    /// How long the handler has waited for the body so far.
    var waitedTime: UInt64 = 0

    /// Whether a streamed answer may be written to.
    var isAnswerOpen = false
    var isChunked = false
    /// One write at a time; the others queue.
    var isWriting = false
    var writers: [CheckedContinuation<Void, Never>] = []

    /// Set for an answer without an end: what to say when there is nothing to say.
    var heartbeat: [UInt8]?
    var heartbeatInterval: UInt64 = 0
    var lastWrite: UInt64 = 0
    var isEndless: Bool { heartbeat != nil }

    mutating func begin() {
        self = HTTP1Exchange(number: number + 1)
    }

    /// Nothing of this exchange is to go on.
    mutating func close() {
        isBodyOpen = false
        isAnswerOpen = false
        heartbeat = nil
        let queue = writers
        writers = []
        for writer in queue { writer.resume() }
    }

    private init(number: UInt64) { self.number = number }
    init() {}
}
