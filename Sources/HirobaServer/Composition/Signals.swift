import Glibc
import HirobaThreads

/// The signals a server listens to, as a stream.
package enum Signals {
    /// SIGTERM, SIGINT and SIGHUP from now on. For the program's start; a second call takes the signals over.
    package static func stream() -> AsyncStream<Int32> {
        // A client that goes away while it is written to is an error of that write, not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return stream }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Blocking the signals and waiting with `sigwait` would be shorter, but the thread that the asynchronous `main` leaves
        // behind takes every signal again.
        writeEnd = ends[1]
        for number in [SIGTERM, SIGINT, SIGHUP] {
            signal(number) { number in
                // Only what is allowed in a handler: one write. A full pipe has enough to tell already.
                let reason = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(writeEnd, &byte, 1)
                errno = reason
            }
        }
        let readEnd = ends[0]
        startThread(name: "signals") {
            var byte: UInt8 = 0
            while true {
                let count = read(readEnd, &byte, 1)
                if count == 1 { continuation.yield(Int32(byte)) } else if count == 0 || errno != EINTR { return }
            }
        }
        return stream
    }
}

/// Where the handler writes. Unsafe because a handler can run at any time; it is set once, before the handlers are.
private nonisolated(unsafe) var writeEnd: Int32 = -1
