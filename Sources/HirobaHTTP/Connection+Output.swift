extension Connection {
    /// Sends what is pending, as far as it goes. For places that cannot wait.
    func flush() {
        while !pending.isEmpty {
            switch pending.withUnsafeBytes({ transport.write($0) }) {
            case .count(let count): pending.removeFirst(count)
            case .again:
                canWrite = false
                expectRoom()
                return
            case .end, .failed: return close()
            }
        }
        if writeWaiter == nil { deadlines.write = .max }
    }

    /// Sends two pieces, one after the other, and returns when the kernel has them: a slow client holds back whoever
    /// writes to it.
    ///
    /// - Parameter isFollowed: more is written at once, so that the kernel may wait for it and send both in one packet.
    /// - Returns: false when the connection is gone.
    func write(_ first: [UInt8], _ second: [UInt8] = [], isFollowed: Bool = false) async -> Bool {
        while !pending.isEmpty { guard await waitUntilWritable() else { return false } }
        var offset = 0
        let total = first.count + second.count
        while offset < total {
            guard phase == .serving else { return false }
            let result = first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in
                    transport.write(
                        UnsafeRawBufferPointer(rebasing: first[min(offset, first.count)...]),
                        UnsafeRawBufferPointer(rebasing: second[max(0, offset - first.count)...]),
                        isFollowed: isFollowed)
                }
            }
            switch result {
            case .count(let count): offset += count
            case .again:
                canWrite = false
                guard await waitUntilWritable() else { return false }
            case .end, .failed:
                close()
                return false
            }
        }
        return true
    }

    /// Waits until nothing is pending, or the connection is gone.
    func sendPending() async {
        while !pending.isEmpty { guard await waitUntilWritable() else { return } }
    }

    /// - Returns: false when the connection is gone.
    func waitUntilWritable() async -> Bool {
        guard phase == .serving, writeWaiter == nil else { return false }
        expectRoom()
        let wake = await withCheckedContinuation { writeWaiter = $0 }
        deadlines.write = .max
        return wake == .ready && phase == .serving
    }

    /// The socket is full: the client has to read by a certain time.
    func expectRoom() {
        deadlines.write = loop.now + server.times.writeStall
        deadlines.unconfirmed = transport.unconfirmed
        arm()
    }

    /// Whether the client has read since `expectRoom`, at the rate that is asked of those who send.
    ///
    /// That the socket has no room does not tell it: the kernel speaks of room when a third of its buffer is free, and that
    /// can be more than a megabyte, which a phone on a slow network takes a minute for.
    func hasTakenEnough() -> Bool {
        let least = max(1, server.limits.bodyMinimumRate * Int(server.times.writeStall) / 1000)
        return deadlines.unconfirmed - transport.unconfirmed >= least
    }

    func wakeWriter(_ wake: Wake) {
        guard let waiter = writeWaiter else { return }
        writeWaiter = nil
        waiter.resume(returning: wake)
    }
}
