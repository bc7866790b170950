/// How many frames of a kind that costs us more than the client one connection may send: so many at once, and a fifth of
/// that in every second.
struct FrameBudget {
    private let most: Int
    private var left: Int
    private var refilled: UInt64

    init(_ most: Int, now: UInt64) {
        self.most = most
        left = most
        refilled = now
    }

    /// - Returns: false when there were too many.
    mutating func spend(now: UInt64) -> Bool {
        let earned = Int(min(now - min(refilled, now), 60_000)) * most / 5000
        if earned > 0 {
            left = min(most, left + earned)
            refilled = now
        }
        left -= 1
        return left >= 0
    }
}
