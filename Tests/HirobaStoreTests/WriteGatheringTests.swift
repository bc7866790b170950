import HirobaThreads
import Testing

@testable import HirobaStore

@Suite struct WriteGatheringTests {
    @Test("nobody waits where there was nobody to share with")
    func alone() {
        var gathering = WriteGathering()
        for _ in 0..<3 {
            #expect(gathering.wanted == 1)
            gathering.note(done: 1, waiting: 0, time: 1_000_000)
        }
    }

    @Test("who was answered and who waits already are expected together, for half the time of a group at most")
    func together() {
        var gathering = WriteGathering()
        gathering.note(done: 1, waiting: 1, time: 600_000)
        #expect(gathering.wanted == 2 && gathering.patience == 300_000)
        // Both came: the same is hoped for again.
        gathering.note(done: 2, waiting: 0, time: 9_000_000)
        #expect(gathering.wanted == 2 && gathering.patience == WriteGathering.longest)
    }

    @Test("after a wait in vain the next groups go without")
    func inVain() {
        var gathering = WriteGathering()
        gathering.note(done: 1, waiting: 3, time: 600_000)
        #expect(gathering.wanted == 4)
        for _ in 0..<32 {
            gathering.note(done: 3, waiting: 1, time: 600_000)
            #expect(gathering.wanted == 1 && gathering.patience == 0)
        }
        gathering.note(done: 3, waiting: 1, time: 600_000)
        #expect(gathering.wanted == 4)
    }

    private static func write() -> Operation { Operation(.write, deadline: .after(.seconds(60))) }

    @Test("a queue waits for company, until it is there or patience ends")
    func queue() {
        let queue = OperationQueue(most: 10)
        queue.append(Self.write())
        #expect(queue.take(10, atLeast: 2, within: 1_000_000).count == 1)

        queue.append(Self.write())
        startThread(name: "company") { queue.append(Self.write()) }
        #expect(queue.take(10, atLeast: 2, within: 60_000_000_000).count == 2)

        queue.append(Self.write())
        startThread(name: "closing") { queue.close() }
        #expect(queue.take(10, atLeast: 2, within: 60_000_000_000).count == 1)
        #expect(queue.take(10, atLeast: 2, within: 60_000_000_000).isEmpty)
    }
}
