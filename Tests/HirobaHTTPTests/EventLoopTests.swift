import HirobaThreads
import Testing

@testable import HirobaHTTP

@Suite struct EventLoopTests {
    /// Runs on a loop, as a connection does.
    private actor Worker {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        private var numbers: [Int] = []

        init(loop: EventLoop) { self.loop = loop }

        func add(_ number: Int) -> Bool {
            numbers.append(number)
            return loop.isOnLoop
        }

        func all() -> [Int] { numbers }
    }

    private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
        let loop = try EventLoop()
        loop.start(name: "test-loop")
        do {
            try await body(loop)
        } catch {
            loop.stop {}
            throw error
        }
        await withCheckedContinuation { continuation in loop.stop { continuation.resume() } }
    }

    @Test("an actor of the loop and tasks that prefer it run on its thread")
    func isolation() async throws {
        try await withLoop { loop in
            let worker = Worker(loop: loop)
            for number in 0..<100 { #expect(await worker.add(number)) }
            #expect(await worker.all() == Array(0..<100))
            let isOnLoop = await Task(executorPreference: loop) {
                // Also after a hop to another thread and back.
                try? await Task.sleep(for: .milliseconds(1))
                return loop.isOnLoop
            }.value
            #expect(isOnLoop)
            #expect(!loop.isOnLoop)
        }
    }

    @Test("work handed over from many threads is all done, each thread's in order")
    func handOver() async throws {
        try await withLoop { loop in
            let done = Lock<[Int: [Int]]>([:])
            await withTaskGroup { group in
                for thread in 0..<8 {
                    group.addTask {
                        for number in 0..<1000 {
                            loop.execute { done.withLock { $0[thread, default: []].append(number) } }
                        }
                    }
                }
            }
            #expect(await eventually { done.withLock { $0.values.reduce(0) { $0 + $1.count } } == 8000 })
            #expect(done.withLock { $0.values.allSatisfy { $0 == Array(0..<1000) } })
        }
    }

    @Test("what comes after the end is still done, so that nobody waits for ever")
    func afterEnd() async throws {
        let loop = try EventLoop()
        loop.start(name: "test-loop")
        await withCheckedContinuation { continuation in loop.stop { continuation.resume() } }
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }
}
