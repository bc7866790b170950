import Glibc
import HirobaPictures

/// Whole frames over two file descriptors.
struct Frames {
    let input: CInt
    let output: CInt

    /// The next frame without its length, or `nil` when there will be none: the other side is gone.
    func read() -> [UInt8]? {
        guard let head = read(PictureJob.lengthBytes), let length = PictureJob.length(head) else { return nil }
        return read(length)
    }

    private func read(_ count: Int) -> [UInt8]? {
        var isWhole = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let step = Glibc.read(input, buffer.baseAddress.map { $0 + filled }, count - filled)
                if step < 0 && errno == EINTR { continue }
                if step <= 0 { return }
                filled += step
            }
            isWhole = true
        }
        return isWhole ? bytes : nil
    }

    func write(_ frame: [UInt8]) -> Bool {
        frame.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let step = Glibc.write(output, buffer.baseAddress.map { $0 + written }, buffer.count - written)
                if step < 0 && errno == EINTR { continue }
                if step <= 0 { return false }
                written += step
            }
            return true
        }
    }
}
