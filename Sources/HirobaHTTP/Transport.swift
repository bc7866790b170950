import CLinux
import COpenSSL
import Glibc

/// How an attempt to read or write came out.
enum IOResult {
    /// At least one byte was moved.
    case count(Int)
    /// Not now; the loop will tell when.
    case again
    /// The other side has finished sending.
    case end
    /// The connection is of no use any more.
    case failed
}

/// A connected, non-blocking socket, in the clear or under TLS.
struct Transport {
    let descriptor: CInt
    let tls: TLSSession?
    /// False when TLS is wanted and could not be set up.
    let isUsable: Bool

    init(descriptor: CInt, tls: TLSSession?, wantsTLS: Bool) {
        self.descriptor = descriptor
        self.tls = tls
        isUsable = tls != nil || !wantsTLS
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        if let tls { return tls.read(into: buffer) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .count(count) }
            if count == 0 { return .end }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .again : .failed
        }
    }

    /// - Parameter isFollowed: the kernel may wait a moment for what is written next.
    func write(_ bytes: UnsafeRawBufferPointer, isFollowed: Bool = false) -> IOResult {
        if let tls { return tls.write(bytes) }
        let flags = CInt(MSG_NOSIGNAL) | (isFollowed ? CInt(MSG_MORE) : 0)
        return Self.result { Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    }

    /// Writes two pieces in one go where the transport can; the count is that of both together.
    func write(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, isFollowed: Bool = false
    ) -> IOResult {
        if first.isEmpty { return write(second, isFollowed: isFollowed) }
        if tls != nil || second.isEmpty { return write(first, isFollowed: isFollowed) }
        return Self.result {
            clinux_send2(descriptor, first.baseAddress, first.count, second.baseAddress, second.count)
        }
    }

    /// Lets the kernel move bytes from a file. Only without TLS.
    func send(file: CInt, offset: Int, count: Int) -> IOResult {
        var offset = off_t(offset)
        return Self.result { sendfile(descriptor, file, &offset, count) }
    }

    private static func result(_ write: () -> Int) -> IOResult {
        while true {
            let count = write()
            if count > 0 { return .count(count) }
            if count == 0 { return .end }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .again : .failed
        }
    }

    /// Bytes that the kernel still holds for the other side.
    var unconfirmed: Int { Int(clinux_unconfirmed(descriptor)) }

    /// Tells the other side that nothing more will come.
    func finishWriting() {
        tls?.sendClose()
        shutdown(descriptor, CInt(SHUT_WR))
    }

    func close() { _ = Glibc.close(descriptor) }
}
