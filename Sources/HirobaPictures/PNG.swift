/// PNG files (W3C PNG, third edition): chunks of a length, a name, bytes and a checksum.
enum PNG {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Of the chunks that a decoder may ignore, those that change what is seen: transparency, colour, size on paper
    /// and animation.
    private static let seen: Set = [
        "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD", "pHYs", "acTL", "fcTL", "fdAT",
    ]
    private static let needed: Set = ["IHDR", "PLTE", "IDAT", "IEND"]

    static func inspect(_ bytes: [UInt8]) throws(NotAPicture) -> InspectedPicture {
        var reader = PictureReader(bytes)
        var kept = KeptParts(of: bytes)
        var size: (width: Int, height: Int)?
        var orientation = 1
        var hasData = false

        let head = try reader.take(signature.count)
        guard bytes[head].elementsEqual(signature) else { throw NotAPicture("no start of a PNG") }
        kept.keep(head)
        while true {
            let start = reader.position
            let length = try reader.bigEndian(4)
            let name = String(decoding: bytes[try reader.take(4)], as: UTF8.self)
            let payload = try reader.take(length)
            _ = try reader.take(4)
            let chunk = start..<reader.position

            guard (name == "IHDR") == (size == nil) else { throw NotAPicture("a PNG without its head in front") }
            if seen.contains(name) || needed.contains(name) {
                kept.keep(chunk)
            } else if let first = name.utf8.first, first & 0x20 == 0 {
                throw NotAPicture("a PNG that needs something unknown")
            }
            switch name {
            case "IHDR":
                var header = PictureReader(bytes, in: payload)
                let width = try header.bigEndian(4)
                size = (width, try header.bigEndian(4))
            case "IDAT":
                hasData = true
            case "eXIf":
                orientation = Exif.orientation(in: bytes, range: payload)
            case "IEND":
                guard let size, hasData else { throw NotAPicture("a PNG without a picture") }
                return try InspectedPicture(
                    format: .png, width: size.width, height: size.height, orientation: orientation,
                    cleaned: kept.bytes)
            default:
                break
            }
        }
    }
}
