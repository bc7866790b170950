/// GIF files (CompuServe, version 89a): a screen, and blocks that paint on it.
enum GIF {
    /// Of the extensions for applications, those that browsers follow: how often to repeat, and the colour profile.
    private static let seen = ["NETSCAPE2.0", "ANIMEXTS1.0", "ICCRGBG1012"]

    static func inspect(_ bytes: [UInt8]) throws(NotAPicture) -> InspectedPicture {
        var reader = PictureReader(bytes)
        var kept = KeptParts(of: bytes)
        var pixels = 0
        // Delay and transparency of the next image. They go with it.
        var control: Range<Int>?

        guard bytes[try reader.take(6)].starts(with: "GIF8".utf8) else { throw NotAPicture("no start of a GIF") }
        let width = try reader.littleEndian(2)
        let height = try reader.littleEndian(2)
        try skipColours(&reader, flags: try reader.byte(), then: 2)
        kept.keep(0..<reader.position)
        while true {
            let start = reader.position
            switch try reader.byte() {
            case 0x2C:
                let left = try reader.littleEndian(2)
                let top = try reader.littleEndian(2)
                let right = left + (try reader.littleEndian(2))
                let bottom = top + (try reader.littleEndian(2))
                // Decoders make the screen larger for a frame that does not fit.
                pixels = max(pixels, max(width, right) * max(height, bottom))
                try skipColours(&reader, flags: try reader.byte(), then: 0)
                _ = try reader.byte()
                try skipBlocks(&reader)
                if let control { kept.keep(control) }
                control = nil
                kept.keep(start..<reader.position)
            case 0x21:
                let label = try reader.byte()
                let first = reader.position
                try skipBlocks(&reader)
                switch label {
                case 0xF9:
                    control = start..<reader.position
                case 0x01:
                    // Text that no browser paints. It has used up the control block before it.
                    control = nil
                case 0xFF where isSeen(bytes, first..<reader.position):
                    kept.keep(start..<reader.position)
                default:
                    break
                }
            case 0x3B:
                kept.keep(start..<reader.position)
                guard pixels > 0 else { throw NotAPicture("a GIF without a picture") }
                return try InspectedPicture(
                    format: .gif, width: width, height: height, pixels: pixels, cleaned: kept.bytes)
            default:
                throw NotAPicture("a GIF with an unknown block")
            }
        }
    }

    private static func skipColours(
        _ reader: inout PictureReader, flags: UInt8, then more: Int
    ) throws(NotAPicture) {
        _ = try reader.take(more + (flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)))
    }

    /// Blocks of up to 255 bytes, until an empty one.
    private static func skipBlocks(_ reader: inout PictureReader) throws(NotAPicture) {
        while true {
            let count = try reader.byte()
            if count == 0 { return }
            _ = try reader.take(Int(count))
        }
    }

    private static func isSeen(_ bytes: [UInt8], _ blocks: Range<Int>) -> Bool {
        let block = bytes[blocks]
        return block.first == 11 && seen.contains { block.dropFirst().starts(with: $0.utf8) }
    }
}
