import CVips
import HirobaPictures

extension PictureJob {
    /// Large enough for every picture that is let in.
    private static let anySize = 1_000_000

    func run() -> Answer {
        do throws(NotAPicture) {
            switch self {
            case .clean(let bytes): return try Self.clean(bytes)
            case .thumbnail(let bytes, let size): return try Self.thumbnail(bytes, size)
            }
        } catch {
            return .notAPicture(error.reason)
        }
    }

    private static func clean(_ bytes: [UInt8]) throws(NotAPicture) -> Answer {
        let picture = try Measured(bytes)
        if picture.pixels > mostPixels { return .tooManyPixels }
        if let picture = picture.inspected, picture.orientation == 1 {
            // What is given out is what was decoded here once, if only to 64 pixels: all of its bytes are read for it.
            _ = try render(picture.cleaned, most: 64, opaque: CVIPS_JPEG, transparent: CVIPS_WEBP, quality: 50)
            return .picture(picture.format, width: picture.width, height: picture.height, picture.cleaned)
        }
        // Turned pictures are painted anew. So are the formats that browsers do not know.
        return switch picture.format {
        case .png: try render(bytes, most: anySize, opaque: CVIPS_PNG, transparent: CVIPS_PNG, quality: 90)
        case .webp: try render(bytes, most: anySize, opaque: CVIPS_WEBP, transparent: CVIPS_WEBP, quality: 90)
        default: try render(bytes, most: anySize, opaque: CVIPS_JPEG, transparent: CVIPS_WEBP, quality: 90)
        }
    }

    private static func thumbnail(_ bytes: [UInt8], _ size: Int) throws(NotAPicture) -> Answer {
        if try Measured(bytes).pixels > mostPixels { return .tooManyPixels }
        return try render(bytes, most: max(1, size), opaque: CVIPS_JPEG, transparent: CVIPS_WEBP, quality: 82)
    }

    /// What the head of a file says, before anything is decoded.
    private struct Measured {
        let format: PictureFormat
        let pixels: Int
        /// `nil` for formats that only libvips can read.
        let inspected: InspectedPicture?

        init(_ bytes: [UInt8]) throws(NotAPicture) {
            guard let format = PictureFormat(of: bytes) else { throw NotAPicture("an unknown format") }
            self.format = format
            inspected = try InspectedPicture(bytes, as: format)
            if let inspected {
                pixels = inspected.pixels
            } else {
                var (width, height): (CInt, CInt) = (0, 0)
                guard cvips_size(bytes, bytes.count, &width, &height) == 0 else { throw lastError() }
                pixels = Int(width) * Int(height)
            }
        }
    }

    private static func render(
        _ bytes: [UInt8], most: Int, opaque: cvips_format, transparent: cvips_format, quality: CInt
    ) throws(NotAPicture) -> Answer {
        var picture = cvips_picture()
        let status = cvips_render(bytes, bytes.count, CInt(most), opaque, transparent, quality, &picture)
        defer { cvips_free(picture.bytes) }
        guard status == 0, let format = PictureFormat(rawValue: UInt8(picture.format.rawValue)) else {
            throw lastError()
        }
        let written = [UInt8](UnsafeRawBufferPointer(start: picture.bytes, count: picture.count))
        // libvips keeps camera data in WebP even when it is told not to.
        let cleaned = try InspectedPicture(written, as: format)?.cleaned ?? written
        return .picture(format, width: Int(picture.width), height: Int(picture.height), cleaned)
    }
}

private func lastError() -> NotAPicture {
    NotAPicture(String(String(cString: cvips_error()).prefix(200)))
}
