import CLinux
import Glibc
import HirobaJSON
import HirobaThreads

/// A sentence for people about why the stand-in cannot start.
package struct SimulatorFailure: Error, Equatable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// Where the stand-in keeps what outlives it: its authority, the providers' keys, the phones and their tokens.
package struct SimulatorFolder: Sendable {
    package let path: String
    /// The folder is written by one thread, in order, so that a loop never waits for the disk.
    private let writer = WorkerPool(name: "phones-folder", threads: 1, queue: 10_000)

    /// Makes the folder (mode 700) and its parents if they are not there.
    package init(_ path: String) throws(SimulatorFailure) {
        var made = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false) {
            made += part
            if !part.isEmpty, mkdir(made, 0o700) != 0, errno != EEXIST {
                throw SimulatorFailure("The folder \(made) cannot be made: \(Self.words(errno)).")
            }
            made += "/"
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw SimulatorFailure("\(path) is not a folder.")
        }
        self.path = path
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// `nil` when there is no such file.
    func text(_ name: String) throws(SimulatorFailure) -> String? {
        let descriptor = clinux_open(file(name), O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw SimulatorFailure("The file \(file(name)) cannot be read: \(Self.words(errno)).")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = buffer.withUnsafeMutableBytes({ read(descriptor, $0.baseAddress, $0.count) }), count != 0
        {
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                throw SimulatorFailure("The file \(file(name)) cannot be read: \(Self.words(errno)).")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func json(_ name: String) throws(SimulatorFailure) -> JSON? {
        guard let text = try text(name) else { return nil }
        do {
            return try JSON.parse(text)
        } catch {
            throw SimulatorFailure("The file \(file(name)) is no JSON: \(error).")
        }
    }

    /// Writes a file with mode 600, whole or not at all.
    func write(_ text: String, to name: String) throws(SimulatorFailure) {
        let temporary = file(name) + ".new"
        unlink(temporary)
        let descriptor = clinux_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw SimulatorFailure("The file \(file(name)) cannot be written: \(Self.words(errno)).")
        }
        var rest = Array(text.utf8)[...]
        var isWritten = true
        while !rest.isEmpty, isWritten {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { isWritten = false }
        }
        isWritten = fsync(descriptor) == 0 && isWritten
        close(descriptor)
        guard isWritten, rename(temporary, file(name)) == 0 else {
            throw SimulatorFailure("The file \(file(name)) cannot be written: \(Self.words(errno)).")
        }
    }

    /// `write`, on the folder's own thread.
    func save(_ json: JSON, to name: String) async {
        // A disk that is full loses what a test set up, not the test itself; the next change tries again.
        _ = try? await writer.run { try write(String(decoding: json.prettyBytes(), as: UTF8.self), to: name) }
    }

    private static func words(_ number: CInt) -> String { String(cString: strerror(number)) }
}
