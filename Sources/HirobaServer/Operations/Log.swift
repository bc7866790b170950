import Glibc
import HirobaThreads

/// Log lines, one JSON object each, written in batches by a thread of its own.
///
/// Whoever logs only appends bytes under a lock; a slow terminal or a full pipe never stops a request. When more than
/// 4 MiB wait, lines are dropped, and their number is told in a line as soon as there is room.
package final class Log: Sendable {
    private struct State {
        var lines: [UInt8] = []
        /// The storage of the lines that were written last, so that it need not grow anew each time.
        var spare: [UInt8] = []
        var dropped = 0
        var isAwake = false
        var time = LogTime()
    }

    private let state = Lock(State())
    /// Where the lines go. Held while writing: only other flushes wait for it, so that lines keep their order.
    private let output: Lock<Int32>
    private let wake: Semaphore
    private static let most = 4 << 20
    private static let mostSpare = 256 << 10

    /// - Parameter descriptor: where the lines go; standard error by default, so that standard output holds only what
    ///   a command was asked for.
    package init(descriptor: Int32 = STDERR_FILENO) {
        output = Lock(descriptor)
        let wake = Semaphore()
        self.wake = wake
        startThread(name: "log") { [weak self] in
            while true {
                wake.wait()
                // Whatever comes in the next moments goes into the same write.
                usleep(50_000)
                guard let self else { return }
                self.flush()
            }
        }
    }

    deinit { wake.signal() }

    /// Adds one line; `fields` appends the members after the time, each beginning with a comma.
    package func line(_ kind: StaticString, fields: (inout [UInt8]) -> Void) {
        let mustWake = state.withLock { state in
            guard state.lines.count < Self.most else {
                state.dropped += 1
                return false
            }
            state.lines.append(contentsOf: "{\"time\":\"".utf8)
            state.time.appendNow(to: &state.lines)
            state.lines.append(contentsOf: "\",\"kind\":\"".utf8)
            kind.withUTF8Buffer { state.lines.append(contentsOf: $0) }
            state.lines.append(UInt8(ascii: "\""))
            fields(&state.lines)
            state.lines.append(contentsOf: "}\n".utf8)
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if mustWake { wake.signal() }
    }

    /// A sentence for whoever runs the program.
    package func note(_ text: String) {
        line("note") { line in
            line.append(contentsOf: ",\"text\":".utf8)
            appendJSONString(text, to: &line)
        }
    }

    /// Writes what waits, and returns when it is written. The program calls it before it ends.
    package func flush() {
        output.withLock { descriptor in
            var lines = takeLines()
            write(lines, to: descriptor)
            // A burst must not hold its memory for ever.
            guard lines.capacity <= Self.mostSpare else { return }
            lines.removeAll(keepingCapacity: true)
            state.withLock { $0.spare = lines }
        }
    }

    private func takeLines() -> [UInt8] {
        state.withLock { state in
            state.isAwake = false
            if state.dropped > 0 {
                state.lines.append(contentsOf: "{\"kind\":\"dropped\",\"lines\":\(state.dropped)}\n".utf8)
                state.dropped = 0
            }
            var lines: [UInt8] = []
            swap(&lines, &state.spare)
            swap(&lines, &state.lines)
            return lines
        }
    }

    private func write(_ lines: [UInt8], to descriptor: Int32) {
        lines.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
                if count > 0 {
                    offset += count
                } else if errno == EAGAIN {
                    usleep(10_000)
                } else if errno != EINTR {
                    // The reader has gone. There is nobody left to tell.
                    break
                }
            }
        }
    }
}

/// A counting semaphore, for a thread that has nothing else to wait for.
final class Semaphore: @unchecked Sendable {
    // Unchecked because the C library guards what the pointer names.
    private let semaphore: UnsafeMutablePointer<sem_t> = .allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func wait() { while sem_wait(semaphore) != 0 && errno == EINTR {} }

    func signal() { sem_post(semaphore) }
}

/// Wall-clock time as text: `2024-05-01T12:00:00.000Z`.
struct LogTime {
    private var second = -1
    /// The text up to the full stop, which stays the same for a second.
    private var text: [UInt8] = []

    mutating func appendNow(to bytes: inout [UInt8]) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        append(to: &bytes, seconds: now.tv_sec, nanoseconds: now.tv_nsec)
    }

    mutating func append(to bytes: inout [UInt8], seconds: Int, nanoseconds: Int) {
        if seconds != second {
            second = seconds
            text.removeAll(keepingCapacity: true)
            Self.append(to: &text, seconds: seconds)
        }
        bytes.append(contentsOf: text)
        Self.digits(nanoseconds / 1_000_000, 3, &bytes)
        bytes.append(0x5A)
    }

    private static func append(to bytes: inout [UInt8], seconds: Int) {
        let days = seconds / 86_400
        let second = seconds % 86_400
        // Days since 1970 to a date; Howard Hinnant's civil_from_days, for days that are never negative here.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        digits(year, 4, &bytes)
        bytes.append(0x2D)
        digits(month, 2, &bytes)
        bytes.append(0x2D)
        digits(day, 2, &bytes)
        bytes.append(0x54)
        digits(second / 3_600, 2, &bytes)
        bytes.append(0x3A)
        digits(second / 60 % 60, 2, &bytes)
        bytes.append(0x3A)
        digits(second % 60, 2, &bytes)
        bytes.append(0x2E)
    }

    private static func digits(_ number: Int, _ count: Int, _ bytes: inout [UInt8]) {
        if count > 1 { digits(number / 10, count - 1, &bytes) }
        bytes.append(UInt8(0x30 + number % 10))
    }
}

/// Appends the decimal digits of a number without making a string.
func appendNumber(_ number: Int, to bytes: inout [UInt8]) {
    guard number >= 0 else {
        bytes.append(contentsOf: "\(number)".utf8)
        return
    }
    if number >= 10 { appendNumber(number / 10, to: &bytes) }
    bytes.append(UInt8(0x30 + number % 10))
}

/// Appends a text as a JSON string. A log line stays one line whatever the text holds.
func appendJSONString(_ text: some StringProtocol, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    let start = bytes.count
    bytes.append(contentsOf: text.utf8)
    if !bytes[start...].allSatisfy(isPlain) {
        bytes.removeSubrange(start...)
        for byte in text.utf8 { appendEscaped(byte, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
}

private func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

private func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
    if isPlain(byte) {
        bytes.append(byte)
    } else if byte >= 0x20, byte != 0x7F {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
    } else {
        let hex = Array("0123456789abcdef".utf8)
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(hex[Int(byte >> 4)])
        bytes.append(hex[Int(byte & 15)])
    }
}
