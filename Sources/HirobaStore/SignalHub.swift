import HirobaThreads

/// Who waits for which signal in this process.
final class SignalHub: Sendable {
    private struct State {
        var streams: [String: [Int: AsyncStream<Void>.Continuation]] = [:]
        var next = 0
        var isClosed = false
    }

    private let state = Lock(State())

    func stream(_ name: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.streams[name, default: [:]][state.next] = continuation
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.remove(name, number) }
        continuation.yield()
        return stream
    }

    func deliver(_ names: Set<String>) {
        guard !names.isEmpty else { return }
        let woken = state.withLock { state in names.flatMap { state.streams[$0].map { Array($0.values) } ?? [] } }
        for continuation in woken { continuation.yield() }
    }

    func deliverAll() {
        deliver(state.withLock { Set($0.streams.keys) })
    }

    func close() {
        let all = state.withLock { state in
            state.isClosed = true
            defer { state.streams = [:] }
            return state.streams.values.flatMap { $0.values }
        }
        for continuation in all { continuation.finish() }
    }

    private func remove(_ name: String, _ number: Int) {
        state.withLock { state in
            state.streams[name]?[number] = nil
            if state.streams[name]?.isEmpty == true { state.streams[name] = nil }
        }
    }
}
