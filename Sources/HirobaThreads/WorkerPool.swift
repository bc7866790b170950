/// A few threads and a bounded queue for work that blocks or computes for long: password hashes, pictures, cold files.
///
/// When the queue is full `run` throws `WorkerPool.Full` at once, so that a flood of slow work is refused instead of piling up.
package final class WorkerPool: Sendable {
    /// The queue had no room. Answer "try again later".
    package struct Full: Error {}

    private struct State {
        var idle: [Worker]
        var waiting: [CheckedContinuation<Worker?, Never>] = []
    }

    /// Runs closures on its own thread.
    private actor Worker {
        nonisolated let thread: WorkerThread
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
        private var done = 0

        init(name: String) { thread = WorkerThread(name: name) }

        func run<Result: Sendable, Failure: Error>(
            _ work: @Sendable () throws(Failure) -> Result
        ) throws(Failure) -> Result {
            // Touching isolated state keeps the hop to this actor's thread in optimised builds.
            done &+= 1
            return try work()
        }
    }

    private let state: Lock<State>
    private let most: Int

    /// - Parameters:
    ///   - threads: how many pieces of work run at once.
    ///   - queue: how many more may wait.
    package init(name: String, threads: Int, queue: Int) {
        state = Lock(State(idle: (0..<threads).map { Worker(name: "\(name)-\($0)") }))
        most = queue
    }

    /// Runs `work` on one of the pool's threads and returns its result. Waits in the order of arrival.
    package func run<Result: Sendable>(_ work: @Sendable () throws -> Result) async throws -> Result {
        let worker = try await takeWorker()
        defer { giveBack(worker) }
        return try await worker.run(work)
    }

    private func takeWorker() async throws(Full) -> Worker {
        if let worker = state.withLock({ $0.idle.popLast() }) { return worker }
        let worker: Worker? = await withCheckedContinuation { continuation in
            let answer: Worker?? = state.withLock { state in
                if let worker = state.idle.popLast() { return worker }
                if state.waiting.count >= most { return .some(nil) }
                state.waiting.append(continuation)
                return .none
            }
            if let answer { continuation.resume(returning: answer) }
        }
        guard let worker else { throw Full() }
        return worker
    }

    private func giveBack(_ worker: Worker) {
        let next = state.withLock { state -> CheckedContinuation<Worker?, Never>? in
            guard !state.waiting.isEmpty else {
                state.idle.append(worker)
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: worker)
    }
}
