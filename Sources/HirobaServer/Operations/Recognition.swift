import HirobaContract
import HirobaThreads

/// Who a request turned out to be from, for its line in the log. The core finds out in the transaction that does the work;
/// the line is written where neither the core nor the call is known.
final class Recognition: Sendable {
    @TaskLocal static var current: Recognition?

    private let found = Lock<User.ID?>(nil)

    var user: User.ID? { found.withLock { $0 } }

    func note(_ user: User.ID) { found.withLock { $0 = user } }
}
