import CLinux
import Glibc

/// A program of ours that runs beside this one, with a socket as its standard input and output.
///
/// It inherits nothing: no other open file, no environment, no blocked signal, and not the terminal's Ctrl-C. What it
/// writes to standard error is thrown away. Reading and writing block, so call them on a thread that may.
///
/// A child that asks to die with its parent (`PR_SET_PDEATHSIG`) dies with the *thread* that started it: start such a
/// one on a `WorkerThread` or `WorkerPool` that outlives it.
package final class ChildProcess: Sendable {
    package enum Failure: Error, Equatable {
        /// With the error number of the system.
        case cannotStart(Int32)
        /// It is gone, or was ended here.
        case ended
        /// The deadline passed. The child is in the middle of something: end it.
        case tooSlow
    }

    package let id: Int32
    private let socket: CInt
    /// Once it is waited for, its number may belong to another process.
    private let isOver = Lock(false)

    package init(executable: String, arguments: [String] = []) throws(Failure) {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .cannotStart(errno) }
        defer { close(ends[1]) }
        // The child reads and writes without polling.
        _ = fcntl(ends[1], F_SETFL, 0)

        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        clinux_spawn_close_from(&files, STDERR_FILENO + 1)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)

        var words = ([executable] + arguments).map { strdup($0) } + [nil]
        defer { for case let word? in words { free(word) } }
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        var id: pid_t = 0
        let status = posix_spawn(&id, executable, &files, &attributes, &words, &environment)
        guard status == 0 else {
            close(ends[0])
            throw .cannotStart(status)
        }
        self.id = id
        socket = ends[0]
    }

    deinit {
        end()
        close(socket)
    }

    /// Kills it and waits until it is gone. May be called more than once and from any thread: whoever reads or writes at
    /// the time gets `ended`.
    package func end() {
        isOver.withLock { isOver in
            guard !isOver else { return }
            isOver = true
            kill(id, SIGKILL)
            while waitpid(id, nil, 0) < 0 && errno == EINTR {}
        }
    }

    package func write(_ bytes: [UInt8], until deadline: ContinuousClock.Instant) throws(Failure) {
        var start = 0
        while start < bytes.count {
            let step = bytes[start...].withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if step > 0 {
                start += step
            } else {
                try wait(for: POLLOUT, errno, until: deadline)
            }
        }
    }

    /// Exactly so many bytes.
    package func read(_ count: Int, until deadline: ContinuousClock.Instant) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var start = 0
        while start < count {
            let step = bytes[start...].withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            if step > 0 {
                start += step
            } else if step == 0 {
                throw .ended
            } else {
                try wait(for: POLLIN, errno, until: deadline)
            }
        }
        return bytes
    }

    private func wait(for event: Int32, _ error: Int32, until deadline: ContinuousClock.Instant) throws(Failure) {
        guard error == EAGAIN || error == EINTR else { throw .ended }
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw .tooSlow }
        var poll = pollfd(fd: socket, events: Int16(event), revents: 0)
        // One millisecond more than is left, so that it is not asked for a wait of nothing.
        _ = Glibc.poll(
            &poll, 1,
            Int32(clamping: left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1))
    }

    /// Where the program of this name is if it lies in the folder of the running one.
    package static func besideThisProgram(_ name: String) -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        let program = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        let folder = program.lastIndex(of: "/").map { program[..<$0] } ?? "."
        return "\(folder)/\(name)"
    }
}
