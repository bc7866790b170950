/// JPEG files (ITU-T T.81, annex B): markers, most with a length, and compressed scans between them.
enum JPEG {
    static func inspect(_ bytes: [UInt8]) throws(NotAPicture) -> InspectedPicture {
        var reader = PictureReader(bytes)
        var kept = KeptParts(of: bytes)
        var size: (width: Int, height: Int)?
        var orientation: Int?
        var hasScan = false

        guard try reader.bigEndian(2) == 0xFFD8 else { throw NotAPicture("no start of a JPEG") }
        kept.keep(0..<2)
        while true {
            // Between two segments there may be nothing but fill bytes. What else is there is not part of the picture.
            reader.skip(to: 0xFF)
            let start = reader.position
            var marker = try reader.byte()
            while marker == 0xFF { marker = try reader.byte() }

            switch marker {
            case 0x00, 0x01, 0xD0...0xD7:
                // Means nothing outside a scan.
                continue
            case 0xD8:
                throw NotAPicture("a second start of a JPEG")
            case 0xD9:
                // Phones append more pictures, or a film, after the end.
                kept.keep(start..<reader.position)
                guard let size, hasScan else { throw NotAPicture("a JPEG without a picture") }
                return try InspectedPicture(
                    format: .jpeg, width: size.width, height: size.height, orientation: orientation ?? 1,
                    cleaned: kept.bytes)
            default:
                break
            }

            let length = try reader.bigEndian(2)
            let payload = try reader.take(length - 2)
            let segment = start..<reader.position
            switch marker {
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                guard size == nil else { throw NotAPicture("a JPEG of several frames") }
                var frame = PictureReader(bytes, in: payload)
                _ = try frame.byte()
                let height = try frame.bigEndian(2)
                size = (try frame.bigEndian(2), height)
                kept.keep(segment)
            case 0xDA:
                hasScan = true
                try skipScan(&reader)
                kept.keep(start..<reader.position)
            case 0xE0...0xEF, 0xFE:
                if marker == 0xE1, orientation == nil, starts(bytes, payload, with: "Exif\0\0") {
                    orientation = Exif.orientation(in: bytes, range: payload.dropFirst(6))
                }
                if isSeen(bytes, marker, payload) { kept.keep(segment) }
            default:
                // Tables, restart intervals and what else a decoder needs.
                kept.keep(segment)
            }
        }
    }

    /// To the next marker that is neither a stuffed 0xFF nor a restart.
    private static func skipScan(_ reader: inout PictureReader) throws(NotAPicture) {
        while true {
            reader.skip(to: 0xFF)
            guard let second = reader.second else { throw NotAPicture("a JPEG without an end") }
            switch second {
            case 0xFF: _ = try reader.take(1)
            case 0, 0xD0...0xD7: _ = try reader.take(2)
            default: return
            }
        }
    }

    /// Which of the segments for applications change what is seen. JFIF says how wide a pixel is and may hold a small
    /// copy of the picture, which may show what was cut off since; with such a copy it is left out.
    private static func isSeen(_ bytes: [UInt8], _ marker: UInt8, _ payload: Range<Int>) -> Bool {
        switch marker {
        case 0xE0: payload.count == 14 && starts(bytes, payload, with: "JFIF\0")
        case 0xE2: starts(bytes, payload, with: "ICC_PROFILE\0")
        case 0xEE: payload.count == 12 && starts(bytes, payload, with: "Adobe")
        default: false
        }
    }

    private static func starts(_ bytes: [UInt8], _ range: Range<Int>, with text: String) -> Bool {
        bytes[range].starts(with: text.utf8)
    }
}
