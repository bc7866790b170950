import CLinux
import Glibc
import HirobaThreads
import Synchronization

/// One thread that waits for sockets, runs what its connections and their handlers do, and keeps their time.
///
/// It is the serial executor of its connections and the task executor of the tasks that handlers run in, so that a request
/// is served without changing threads.
package final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // Unchecked because the compiler cannot see that everything but `shared` and `thread` is touched on the loop's thread only.

    /// Work handed over from other threads.
    private struct Shared {
        var work: [Work] = []
        var isWoken = false
        var hasEnded = false
    }

    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private enum Member {
        case free(next: Int)
        case connection(Connection)
        case listener(Listener)
        case other(any LoopMember)
    }

    private let shared = Lock(Shared())
    private let epoll: CInt
    private let wakeup: CInt
    /// The loop's thread while it runs; no thread is called 0.
    private let thread = Atomic<pthread_t>(0)

    private var local: [Work] = []
    private var members: [(member: Member, generation: UInt32)] = []
    private var firstFree = -1
    private var wheel: TimerWheel
    private var isStopping = false
    private var onEnd: (@Sendable () -> Void)?

    /// Milliseconds on the monotonic clock, as of the last time the loop woke.
    private(set) var now: UInt64
    /// How many connections are open; the thread outlives them.
    private(set) var connectionCount = 0
    /// How many clients' connections were dealt to this loop and are still open. Read and changed by the listeners too.
    let clients = Atomic<Int>(0)
    /// How many handler tasks are alive; the thread outlives them too.
    var taskCount = 0

    /// What sockets are read into before anyone knows how much there is.
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var writeBuffer: [UInt8] = []
    private var dateSecond = -1
    private var dateFields: [UInt8] = []

    package init() throws {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        wakeup = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        now = Self.clock()
        wheel = TimerWheel(now: now)
        guard epoll >= 0, wakeup >= 0 else { throw HTTPServerError("no file descriptors for an event loop") }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: .max))
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event)
    }

    deinit {
        close(epoll)
        close(wakeup)
        readBuffer.deallocate()
    }

    /// The coarse clock lags by a few milliseconds at most and costs next to nothing; the wheel's ticks are coarser still.
    private static func clock() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Runs `work` on the loop's thread: at once if this is it, else soon.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        if isOnLoop { work() } else { add(.closure(work)) }
    }

    /// Runs `work` on the loop's thread, soon.
    package func execute(_ work: @escaping @Sendable () -> Void) { add(.closure(work)) }

    private func add(_ work: Work) {
        if isOnLoop {
            local.append(work)
            return
        }
        let (mustWake, hasEnded) = shared.withLock { shared in
            if shared.hasEnded { return (false, true) }
            shared.work.append(work)
            defer { shared.isWoken = true }
            return (!shared.isWoken, false)
        }
        if mustWake { eventfd_write(wakeup, 1) }
        // Only what is left over of a stopped server comes here: there is no thread any more to be kept apart from.
        if hasEnded { run(work) }
    }

    private func run(_ work: Work) {
        switch work {
        case .job(let job):
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .closure(let closure):
            closure()
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    package var isOnLoop: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    package func checkIsolated() { precondition(isOnLoop, "this must run on the connection's own loop") }
    package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    // MARK: The thread

    package func start(name: String) {
        startThread(name: name) { self.run() }
    }

    /// Ends the thread once nothing is left to do on it, then calls `onEnd` there.
    package func stop(onEnd: @escaping @Sendable () -> Void) {
        execute {
            self.isStopping = true
            self.onEnd = onEnd
        }
    }

    private func run() {
        // Only the thread itself can find its own name here, so no order is needed.
        thread.store(pthread_self(), ordering: .relaxed)
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            let count = epoll_wait(epoll, &events, 256, timeout)
            now = Self.clock()
            for index in 0..<Int(max(count, 0)) { dispatch(events[index]) }
            runWork()
            for entry in wheel.advance(to: now) { fire(entry) }
            if isStopping, connectionCount == 0, taskCount == 0, local.isEmpty, endIfIdle() { break }
        }
        let onEnd = onEnd
        self.onEnd = nil
        thread.store(0, ordering: .relaxed)
        onEnd?()
    }

    private var timeout: CInt {
        if !local.isEmpty { return 0 }
        // A loop that is to end looks again soon, because tasks end without an event.
        if isStopping { return 10 }
        guard let wait = wheel.timeUntilNext(now: Self.clock()) else { return -1 }
        return CInt(min(wait, 60_000))
    }

    private func runWork() {
        // A few rounds, because work makes work; then the sockets have their turn again.
        for _ in 0..<16 {
            if local.isEmpty { break }
            var batch: [Work] = []
            swap(&batch, &local)
            for work in batch { run(work) }
            if local.isEmpty {
                // Keeps the storage.
                batch.removeAll(keepingCapacity: true)
                local = batch
            }
        }
    }

    private func takeSharedWork() {
        var count: eventfd_t = 0
        eventfd_read(wakeup, &count)
        let work = shared.withLock { shared in
            defer { shared.work = [] }
            shared.isWoken = false
            return shared.work
        }
        local.append(contentsOf: work)
    }

    private func endIfIdle() -> Bool {
        shared.withLock { shared in
            guard shared.work.isEmpty else { return false }
            shared.hasEnded = true
            return true
        }
    }

    // MARK: Members

    private func dispatch(_ event: epoll_event) {
        let token = event.data.u64
        if token == .max {
            takeSharedWork()
            return
        }
        switch member(token) {
        case .connection(let connection): connection.assumeIsolated { $0.ready(event.events) }
        case .listener(let listener): listener.ready()
        case .other(let member): member.ready(event.events)
        case .free, nil: break
        }
    }

    private func fire(_ entry: TimerWheel.Entry) {
        switch member(entry.key) {
        case .connection(let connection): connection.assumeIsolated { $0.timerFired(entry.time) }
        case .listener(let listener): listener.timerFired()
        case .other(let member): member.timerFired(entry.time)
        case .free, nil: break
        }
    }

    /// A token names a place and who had it, so that what is late for one connection never reaches the next.
    private func member(_ token: UInt64) -> Member? {
        let index = Int(token & 0xFFFF_FFFF)
        guard index < members.count, members[index].generation == UInt32(token >> 32) else { return nil }
        return members[index].member
    }

    /// Adds a socket, edge-triggered in both directions: it is registered once and never again.
    /// - Returns: its token, or `nil` when the kernel has no room for it.
    func add(_ connection: Connection, descriptor: CInt) -> UInt64? {
        addSocket(.connection(connection), descriptor)
    }

    /// The same for a connection that we made ourselves.
    func add(_ member: any LoopMember, descriptor: CInt) -> UInt64? { addSocket(.other(member), descriptor) }

    private func addSocket(_ member: Member, _ descriptor: CInt) -> UInt64? {
        let token = add(member)
        let events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        guard watch(descriptor, events, token) else {
            removeMember(token)
            return nil
        }
        connectionCount += 1
        return token
    }

    func removeConnection(_ token: UInt64) {
        removeMember(token)
        connectionCount -= 1
    }

    /// Adds something that has no socket and only wants to be told the time.
    func add(_ member: any LoopMember) -> UInt64 { add(.other(member)) }

    func remove(_ token: UInt64) { removeMember(token) }

    func add(_ listener: Listener, descriptor: CInt) -> UInt64? {
        let token = add(.listener(listener))
        guard watch(descriptor, EPOLLIN.rawValue, token) else {
            removeMember(token)
            return nil
        }
        return token
    }

    func removeListener(_ token: UInt64, descriptor: CInt) {
        unwatch(descriptor)
        removeMember(token)
    }

    func watch(_ descriptor: CInt, _ events: UInt32, _ token: UInt64) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(u64: token))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    func unwatch(_ descriptor: CInt) {
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }

    private func add(_ member: Member) -> UInt64 {
        let index: Int
        if firstFree >= 0, case .free(let next) = members[firstFree].member {
            index = firstFree
            firstFree = next
            members[index].member = member
        } else {
            index = members.count
            members.append((member, 0))
        }
        return UInt64(members[index].generation) << 32 | UInt64(index)
    }

    private func removeMember(_ token: UInt64) {
        let index = Int(token & 0xFFFF_FFFF)
        // The last generation is never used: it is the token of the wake-up descriptor.
        members[index] = (.free(next: firstFree), (members[index].generation &+ 1) & 0x7FFF_FFFF)
        firstFree = index
    }

    func setTimer(_ token: UInt64, at time: UInt64) { wheel.add(token, at: time) }

    func forEachConnection(_ body: (Connection) -> Void) {
        for (member, _) in members {
            if case .connection(let connection) = member { body(connection) }
        }
    }

    // MARK: What connections share

    /// An empty array with room, to be given back with `giveBack`.
    func takeBuffer() -> [UInt8] {
        var buffer: [UInt8] = []
        swap(&buffer, &writeBuffer)
        return buffer
    }

    func giveBack(_ buffer: consuming [UInt8]) {
        if buffer.capacity > 256 * 1024 { return }
        buffer.removeAll(keepingCapacity: true)
        writeBuffer = buffer
    }

    /// The Date field and its line end, made once a second.
    var dateField: [UInt8] {
        let second = time(nil)
        if second != dateSecond {
            dateSecond = second
            dateFields = Array("Date: \(HTTPDate.text(secondsSince1970: second))\r\n".utf8)
        }
        return dateFields
    }
}

/// What else may live on a loop: connections that go out. Called on the loop's thread.
protocol LoopMember: AnyObject, Sendable {
    /// Something happened on the socket: EPOLLIN and its kin.
    func ready(_ events: UInt32)
    /// A time has come that was set by `setTimer`.
    func timerFired(_ time: UInt64)
}

extension LoopMember {
    func timerFired(_ time: UInt64) {}
}
