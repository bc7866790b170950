/// One request on an HTTP/2 connection, and its answer. Belongs to its session.
final class HTTP2Stream {
    let id: Int32

    // The head, as it comes in.
    var method: [UInt8] = []
    var path: [UInt8] = []
    var authority: [UInt8]?
    var headers = HTTPHeaders()
    var cookie: [UInt8] = []
    var headBytes = 0
    var headFields = 0
    var contentLength: Int?
    var expectsContinue = false

    // The body, as it comes in.
    private var input: [[UInt8]] = []
    private var inputStart = 0
    private(set) var inputBytes = 0
    var hasInputEnded = false
    var inputFailure: HTTPBodyError?
    var receivedBytes: UInt64 = 0
    var waitedTime: UInt64 = 0
    var reader: CheckedContinuation<Connection.Wake, Never>?

    // The answer, as it goes out.
    private var output: [UInt8] = []
    private var outputStart = 0
    var hasOutputEnded = false
    /// nghttp2 waits to be told that there is more.
    var isDeferred = false
    var hasAnswer = false
    var writers: [CheckedContinuation<Void, Never>] = []
    var heartbeat: [UInt8]?
    var heartbeatInterval: UInt64 = 0
    var lastWrite: UInt64 = 0

    var task: Task<Void, Never>?
    var isClosed = false

    /// By when the next piece of the body, progress of the answer, or a sign of life is due.
    var readDeadline: UInt64 = .max
    var writeDeadline: UInt64 = .max
    var heartbeatDeadline: UInt64 = .max
    /// By when the client must have stopped sending; set when the answer is out, and what comes from then on is dropped.
    var lingerDeadline: UInt64 = .max
    var earliestDeadline: UInt64 { min(readDeadline, writeDeadline, heartbeatDeadline, lingerDeadline) }

    init(id: Int32) { self.id = id }

    var waitingOutput: Int { output.count - outputStart }
    var isEndless: Bool { heartbeat != nil }

    func appendInput(_ bytes: UnsafeBufferPointer<UInt8>) {
        input.append(Array(bytes))
        inputBytes += bytes.count
        receivedBytes += UInt64(bytes.count)
    }

    func takeInput() -> [UInt8]? {
        guard inputStart < input.count else { return nil }
        let piece = input[inputStart]
        input[inputStart] = []
        inputStart += 1
        if inputStart == input.count {
            input.removeAll(keepingCapacity: true)
            inputStart = 0
        }
        inputBytes -= piece.count
        return piece
    }

    /// Everything at once, of a body that has arrived whole.
    func takeAllInput() -> [UInt8] {
        guard var all = takeInput() else { return [] }
        while let more = takeInput() { all += more }
        return all
    }

    func dropInput() {
        input = []
        inputStart = 0
        inputBytes = 0
    }

    func appendOutput(_ bytes: [UInt8]) {
        if outputStart == output.count {
            output = bytes
            outputStart = 0
        } else {
            if outputStart > 64 * 1024 {
                output.removeFirst(outputStart)
                outputStart = 0
            }
            output += bytes
        }
    }

    /// Moves the next bytes of the answer into a frame.
    func takeOutput(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = min(buffer.count, waitingOutput)
        guard count > 0 else { return 0 }
        output.withUnsafeBufferPointer { bytes in
            _ = buffer.update(fromContentsOf: bytes[outputStart..<outputStart + count])
        }
        outputStart += count
        if outputStart == output.count {
            output = []
            outputStart = 0
        }
        return count
    }

    func wakeReader(_ wake: Connection.Wake) {
        guard let waiting = reader else { return }
        reader = nil
        waiting.resume(returning: wake)
    }

    func wakeWriters() {
        let waiting = writers
        writers = []
        for writer in waiting { writer.resume() }
    }

    /// Nothing more comes in or goes out.
    func close() {
        isClosed = true
        if !hasInputEnded || inputBytes > 0 { inputFailure = inputFailure ?? .disconnected }
        readDeadline = .max
        writeDeadline = .max
        heartbeatDeadline = .max
        lingerDeadline = .max
        wakeReader(.closed)
        wakeWriters()
        task?.cancel()
    }
}
