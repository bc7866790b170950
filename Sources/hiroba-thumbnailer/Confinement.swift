import CLinux
import Glibc

/// What this process gives up, so that a picture that takes over a decoder gains nothing.
enum Confinement {
    /// Beyond what is mapped after the start. The largest picture that is let in needs about 500 MiB: 40 megapixels as
    /// a progressive JPEG in four colours, whose coefficients are all kept, and the turned copy of it.
    private static let mostMemory = 1 << 30
    /// Seconds of processor time; an ordinary photo takes a tenth of one.
    private static let mostTimePerJob: UInt = 20

    static func beforeStart() {
        clinux_die_with_parent()
        clinux_forbid_new_privileges()
        // Warnings of libvips say nothing that anyone could mend, and standard error may be a file, which has reached its
        // limit from here on: a write must fail instead of ending the process.
        setenv("VIPS_WARNING", "0", 1)
        signal(SIGXFSZ, SIG_IGN)
        // libvips would put large pictures into a temporary file.
        setenv("VIPS_DISC_THRESHOLD", "4g", 1)
        // One heap for all threads, or each reserves 64 MiB of address space.
        mallopt(M_ARENA_MAX, 1)
    }

    static func beforeJobs() {
        // No file or socket can be opened from here on: only 0, 1 and 2 may exist.
        limit(RLIMIT_NOFILE, to: 3)
        limit(RLIMIT_FSIZE, to: 0)
        limit(RLIMIT_CORE, to: 0)
        limit(RLIMIT_AS, to: mappedMemory() + mostMemory)
    }

    static func beforeJob() { clinux_limit_cpu(mostTimePerJob) }

    private static func limit(_ resource: __rlimit_resource, to most: Int) {
        guard clinux_limit(CInt(resource.rawValue), UInt(most)) == 0 else {
            print("hiroba-thumbnailer: cannot limit itself: error \(errno)")
            exit(70)
        }
    }

    /// Bytes of address space in use, from the first field of /proc/self/statm.
    private static func mappedMemory() -> Int {
        let file = clinux_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0)
        defer { close(file) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = read(file, &text, text.count)
        let pages = String(decoding: text.prefix(max(0, count)).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
        return (Int(pages) ?? 0) * Int(getpagesize())
    }
}
