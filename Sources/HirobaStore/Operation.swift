import Glibc

/// One `read` or `write` on its way: what to do, until when, and who waits for it.
///
/// Unchecked because an operation belongs to one thread at a time: to its caller until it is in the queue, then to the
/// thread that took it out; the queue's lock lies between the two.
class Operation: @unchecked Sendable {
    let kind: Kind
    private(set) var deadline: Deadline
    /// How often the transaction around it went away by no fault of its own.
    var reruns = 0

    enum Kind: Sendable { case read, write, claim }

    init(_ kind: Kind, deadline: Deadline) {
        self.kind = kind
        self.deadline = deadline
    }

    /// Makes sure there is at least so much time left.
    func extendDeadline(by duration: Duration) { deadline = max(deadline, .after(duration)) }

    /// Runs the closure and keeps its result. May be called again after the transaction was lost.
    func attempt(_ transaction: Transaction) throws {}
    /// Answers the caller with the kept result. `succeed` or `fail` is called once, and only when the outcome is certain.
    func succeed() {}
    func fail(_ error: any Error) {}
}

final class ClosureOperation<Value: Sendable>: Operation, @unchecked Sendable {
    private let body: @Sendable (Transaction) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private var value: Value?

    init(
        _ kind: Kind, deadline: Deadline, continuation: CheckedContinuation<Value, any Error>,
        body: @escaping @Sendable (Transaction) throws -> Value
    ) {
        self.body = body
        self.continuation = continuation
        super.init(kind, deadline: deadline)
    }

    override func attempt(_ transaction: Transaction) throws {
        value = nil
        defer { transaction.close() }
        let value = try body(transaction)
        if let failure = transaction.failure { throw failure }
        self.value = value
    }

    override func succeed() {
        guard let value else {
            return fail(StoreError(.programming, "an operation was answered before it had run"))
        }
        continuation.resume(returning: value)
    }

    override func fail(_ error: any Error) { continuation.resume(throwing: error) }
}

/// A point on the monotonic clock.
struct Deadline: Sendable, Comparable {
    let nanoseconds: UInt64

    static func after(_ duration: Duration) -> Deadline {
        let (seconds, attoseconds) = duration.components
        let length = max(0, seconds) * 1_000_000_000 + max(0, attoseconds / 1_000_000_000)
        return Deadline(nanoseconds: now.nanoseconds + UInt64(length))
    }

    static var now: Deadline {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Deadline(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    var hasPassed: Bool { Deadline.now >= self }

    /// For poll(2): rounded up, so that a wait never ends just before the deadline.
    var millisecondsLeft: Int32 {
        let now = Deadline.now
        return now >= self ? 0 : Int32(clamping: (nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
    }

    static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// Operations in the order of arrival, taken out by one or more threads that sleep while it is empty.
final class OperationQueue: @unchecked Sendable {
    // Unchecked because everything below is touched only while `mutex` is held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t> = .allocate(capacity: 1)
    private let notEmpty: UnsafeMutablePointer<pthread_cond_t> = .allocate(capacity: 1)
    private var waiting: [Operation] = []
    /// Where the first waiting operation lies; what is before it has been taken.
    private var head = 0
    private var isClosed = false
    /// How many must be waiting for a sleeping thread to be woken.
    private var wakesAt = 1
    private let most: Int

    init(most: Int) {
        self.most = most
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(notEmpty, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(notEmpty)
        pthread_mutex_destroy(mutex)
        notEmpty.deallocate()
        mutex.deallocate()
    }

    /// Hands the operation over, or answers it with an error at once when there is no room.
    func append(_ operation: Operation) {
        pthread_mutex_lock(mutex)
        let refusal: StoreError? =
            if isClosed {
                StoreError(.unavailable, "the database is closed")
            } else if waiting.count - head >= most {
                StoreError(.busy, "\(most) operations are waiting already")
            } else {
                nil
            }
        if refusal == nil {
            waiting.append(operation)
            if waiting.count - head >= wakesAt { pthread_cond_signal(notEmpty) }
        }
        pthread_mutex_unlock(mutex)
        if let refusal { operation.fail(refusal) }
    }

    /// Sleeps until there is work and takes up to `count` operations. Empty when the queue is closed and all is done.
    ///
    /// - Parameter least: once there is work, waits until there is so much of it, but no longer than `patience`, in
    ///   nanoseconds. For a queue with one taker.
    func take(_ count: Int, atLeast least: Int = 1, within patience: UInt64 = 0) -> [Operation] {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while head == waiting.count && !isClosed { pthread_cond_wait(notEmpty, mutex) }
        if waiting.count - head < least { wait(for: least, until: Deadline.now.nanoseconds + patience) }
        if head == 0 && waiting.count <= count {
            defer { waiting.removeAll(keepingCapacity: waiting.capacity <= 256) }
            return Array(waiting)
        }
        let end = min(waiting.count, head + count)
        let taken = Array(waiting[head..<end])
        head = end
        if head == waiting.count || head > 256 {
            waiting.removeFirst(head)
            head = 0
        }
        return taken
    }

    /// With the lock held.
    private func wait(for least: Int, until deadline: UInt64) {
        var end = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        wakesAt = least
        defer { wakesAt = 1 }
        while waiting.count - head < least && !isClosed && pthread_cond_timedwait(notEmpty, mutex, &end) == 0 {}
    }

    var count: Int {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return waiting.count - head
    }

    /// Nothing more comes in; what waits is still done.
    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_cond_broadcast(notEmpty)
        pthread_mutex_unlock(mutex)
    }
}
