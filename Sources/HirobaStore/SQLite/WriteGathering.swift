/// How long the writer waits for company before it begins a group.
///
/// Whoever was answered often comes back with the next write at once, while those who came during the commit wait already.
/// Taken in turn, the writes of two connections would never share an fsync; a short wait lets them share each. Nobody waits
/// where there was nobody to share with, and after a wait in vain the next groups go without.
struct WriteGathering {
    /// How many writes the next group should have, and how many nanoseconds after the first it may wait for the others.
    private(set) var wanted = 1
    private(set) var patience: UInt64 = 0

    private var groupsWithoutWaiting = 0

    /// Less than a person notices, more than a client needs to come back.
    static let longest: UInt64 = 500_000
    private static let groupsAfterWaitInVain = 32

    /// Learns from a group that is done.
    ///
    /// - Parameter time: what it took, in nanoseconds. The wait for the next stays well below that.
    mutating func note(done: Int, waiting: Int, time: UInt64) {
        if done < wanted { groupsWithoutWaiting = Self.groupsAfterWaitInVain }
        if groupsWithoutWaiting > 0 {
            groupsWithoutWaiting -= 1
            (wanted, patience) = (1, 0)
        } else {
            (wanted, patience) = (done + waiting, min(time / 2, Self.longest))
        }
    }
}
