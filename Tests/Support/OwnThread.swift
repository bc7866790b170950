import HirobaThreads

/// Runs work on a thread of its own, where it may block: quick reads of SQLite run on their caller's thread, and the
/// threads that tests share are few.
package actor OwnThread {
    private nonisolated let thread = WorkerThread(name: "test")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    package init() {}

    /// The closure takes the actor so that it stays on its thread; through a generic result it would not by itself.
    package func run<Result: Sendable>(
        _ work: @Sendable (isolated OwnThread) async throws -> Result
    ) async throws -> Result {
        try await work(self)
    }
}
