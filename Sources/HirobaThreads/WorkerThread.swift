import CLinux
import Glibc

/// One operating-system thread that runs the jobs of the actors that name it as their executor.
///
/// For work that blocks in C: a database connection, a child process, a slow file. Such an actor returns
/// `thread.asUnownedSerialExecutor()` as its `unownedExecutor`, and its methods may block without stopping anyone else.
/// The thread ends when the last reference goes and the jobs already handed over are done.
package final class WorkerThread: SerialExecutor {
    private let queue: JobQueue

    package init(name: String) {
        let queue = JobQueue()
        self.queue = queue
        startThread(name: name) { queue.run() }
    }

    deinit { queue.close() }

    package func enqueue(_ job: consuming ExecutorJob) {
        queue.append(UnownedJob(job), on: asUnownedSerialExecutor())
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

/// Jobs in order, handed from any thread to one.
private final class JobQueue: @unchecked Sendable {
    // Unchecked because `jobs` and `isClosed` are touched only while `mutex` is held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t> = .allocate(capacity: 1)
    private let notEmpty: UnsafeMutablePointer<pthread_cond_t> = .allocate(capacity: 1)
    private var jobs: [(UnownedJob, UnownedSerialExecutor)] = []
    private var isClosed = false

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(notEmpty, nil)
    }

    deinit {
        pthread_cond_destroy(notEmpty)
        pthread_mutex_destroy(mutex)
        notEmpty.deallocate()
        mutex.deallocate()
    }

    func append(_ job: UnownedJob, on executor: UnownedSerialExecutor) {
        pthread_mutex_lock(mutex)
        jobs.append((job, executor))
        pthread_cond_signal(notEmpty)
        pthread_mutex_unlock(mutex)
    }

    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_cond_signal(notEmpty)
        pthread_mutex_unlock(mutex)
    }

    func run() {
        while true {
            pthread_mutex_lock(mutex)
            while jobs.isEmpty && !isClosed { pthread_cond_wait(notEmpty, mutex) }
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            pthread_mutex_unlock(mutex)
            if batch.isEmpty { return }
            for (job, executor) in batch { job.runSynchronously(on: executor) }
        }
    }
}

/// Starts a detached thread that runs `body` and ends with it. The name shows in `top -H` (at most 15 bytes).
package func startThread(name: String, _ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }
    let box = Unmanaged.passRetained(Box(name, body)).toOpaque()
    var thread = pthread_t()
    let status = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
            clinux_name_current_thread(String(box.name.prefix(15)))
            box.body()
            return nil
        }, box)
    // Without its threads the program cannot start at all; none is made on behalf of a request.
    precondition(status == 0, "cannot start the thread \(name): error \(status)")
    pthread_detach(thread)
}
