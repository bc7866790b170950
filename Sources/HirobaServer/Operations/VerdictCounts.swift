import HirobaCore
import HirobaThreads

/// How many messages ended how since the program started.
final class VerdictCounts: Sendable {
    /// Always all of them, so that a rate can be computed before the first.
    private static let names = ["accepted", "gone", "refused", "retry", "held", "unknown"]

    private let counts = Lock([Int](repeating: 0, count: names.count))

    func count(_ verdict: Verdict) {
        let index =
            switch verdict {
            case .accepted: 0
            case .gone: 1
            case .refused: 2
            case .retry: 3
            case .held: 4
            case .unknown: 5
            }
        counts.withLock { $0[index] += 1 }
    }

    var all: [(name: String, count: Int)] {
        Array(zip(Self.names, counts.withLock { $0 })).map { (name: $0.0, count: $0.1) }
    }
}
