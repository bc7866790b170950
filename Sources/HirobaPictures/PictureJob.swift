/// What the server and its picture process say to each other: one request, one answer, in turn. Each is a frame: the
/// number of bytes that follow as a 32-bit big-endian integer, and these bytes. The first of them tells what it is.
package enum PictureJob: Equatable, Sendable {
    /// 1 and the picture. The same picture, upright and without metadata.
    case clean([UInt8])
    /// 2, the most pixels of a side in 16 bits, and the picture. A smaller picture that fits into the square.
    case thumbnail([UInt8], size: Int)

    /// More pixels than this are not decoded for anyone. Memory and time of the picture process are made for it.
    package static let mostPixels = 40_000_000
    /// A longer frame is a fault of the other side. Uploads are far smaller.
    package static let mostBytes = 256 << 20
    /// Of the number in front.
    package static let lengthBytes = 4

    /// The frame, its length in front.
    package var frame: [UInt8] {
        switch self {
        case .clean(let bytes): makeFrame([1], bytes)
        case .thumbnail(let bytes, let size): makeFrame([2] + bigEndian(size, bytes: 2), bytes)
        }
    }

    /// - Parameter body: a frame without the length in front.
    package init?(_ body: [UInt8]) {
        switch body.first {
        case 1:
            self = .clean(Array(body.dropFirst()))
        case 2 where body.count >= 3:
            self = .thumbnail(Array(body.dropFirst(3)), size: Int(body[1]) << 8 | Int(body[2]))
        default:
            return nil
        }
    }

    /// The number in front of a frame, or `nil` if no frame is that long.
    package static func length(_ bytes: [UInt8]) -> Int? {
        guard bytes.count == lengthBytes else { return nil }
        let length = bytes.reduce(0) { $0 << 8 | Int($1) }
        return (1...mostBytes).contains(length) ? length : nil
    }

    package enum Answer: Equatable, Sendable {
        /// 0, the format, width and height in 32 bits each, and the picture.
        case picture(PictureFormat, width: Int, height: Int, [UInt8])
        /// 1 and the reason.
        case notAPicture(String)
        /// 2.
        case tooManyPixels
        /// 3 and the reason: the picture may be good, the machine was not.
        case failed(String)

        package var frame: [UInt8] {
            switch self {
            case .picture(let format, let width, let height, let bytes):
                makeFrame([0, format.rawValue] + bigEndian(width, bytes: 4) + bigEndian(height, bytes: 4), bytes)
            case .notAPicture(let reason): makeFrame([1], Array(reason.utf8))
            case .tooManyPixels: makeFrame([2], [])
            case .failed(let reason): makeFrame([3], Array(reason.utf8))
            }
        }

        package init?(_ body: [UInt8]) {
            switch body.first {
            case 0 where body.count >= 10:
                guard let format = PictureFormat(rawValue: body[1]) else { return nil }
                self = .picture(
                    format, width: body[2..<6].reduce(0) { $0 << 8 | Int($1) },
                    height: body[6..<10].reduce(0) { $0 << 8 | Int($1) }, Array(body.dropFirst(10)))
            case 1: self = .notAPicture(String(decoding: body.dropFirst(), as: UTF8.self))
            case 2: self = .tooManyPixels
            case 3: self = .failed(String(decoding: body.dropFirst(), as: UTF8.self))
            default: return nil
            }
        }
    }
}

private func bigEndian(_ number: Int, bytes: Int) -> [UInt8] {
    (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

private func makeFrame(_ head: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    bigEndian(head.count + bytes.count, bytes: 4) + head + bytes
}
