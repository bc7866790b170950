/// WebP files (RFC 9649): one RIFF chunk that holds chunks of a name, a length and bytes, padded to an even number.
enum WebP {
    /// Bits of the first byte of `VP8X`.
    private static let saysExif: UInt8 = 0x08
    private static let saysXMP: UInt8 = 0x04

    static func inspect(_ bytes: [UInt8]) throws(NotAPicture) -> InspectedPicture {
        var reader = PictureReader(bytes)
        guard bytes[try reader.take(4)].elementsEqual("RIFF".utf8) else { throw NotAPicture("no start of a WebP") }
        let length = try reader.littleEndian(4)
        var body = PictureReader(bytes, in: try reader.take(length))
        guard bytes[try body.take(4)].elementsEqual("WEBP".utf8) else { throw NotAPicture("no start of a WebP") }

        var canvas: (width: Int, height: Int)?
        var pixels = 0
        var orientation = 1
        var output = Array("RIFF\0\0\0\0WEBP".utf8)
        while !body.isAtEnd {
            let chunk = try nextChunk(&body)
            var payload = PictureReader(bytes, in: chunk.payload)
            switch chunk.name {
            case "VP8X":
                guard canvas == nil, chunk.payload.count == 10 else { throw NotAPicture("a WebP with a damaged head") }
                let flags = try payload.byte()
                _ = try payload.take(3)
                let width = try payload.littleEndian(3) + 1
                canvas = (width, try payload.littleEndian(3) + 1)
                append("VP8X", [flags & ~(saysExif | saysXMP)] + bytes[chunk.payload].dropFirst(), to: &output)
            case "VP8 ", "VP8L":
                let size = try bitstreamSize(bytes, chunk)
                pixels = max(pixels, size.width * size.height)
                if canvas == nil { canvas = size }
                append(chunk.name, bytes[chunk.payload], to: &output)
            case "ANMF":
                // A frame: where it goes, and in it chunks again.
                var frame = Array(bytes[try payload.take(16)])
                while !payload.isAtEnd {
                    let part = try nextChunk(&payload)
                    switch part.name {
                    case "VP8 ", "VP8L":
                        let size = try bitstreamSize(bytes, part)
                        pixels = max(pixels, size.width * size.height)
                        append(part.name, bytes[part.payload], to: &frame)
                    case "ALPH":
                        append(part.name, bytes[part.payload], to: &frame)
                    default:
                        break
                    }
                }
                append("ANMF", frame, to: &output)
            case "ALPH", "ANIM", "ICCP":
                append(chunk.name, bytes[chunk.payload], to: &output)
            case "EXIF":
                // Some writers put the mark of JPEG in front.
                let isMarked = bytes[chunk.payload].starts(with: "Exif\0\0".utf8)
                orientation = Exif.orientation(in: bytes, range: chunk.payload.dropFirst(isMarked ? 6 : 0))
            default:
                break
            }
        }
        guard let canvas, pixels > 0 else { throw NotAPicture("a WebP without a picture") }
        for (index, byte) in littleEndian(output.count - 8).enumerated() { output[4 + index] = byte }
        return try InspectedPicture(
            format: .webp, width: canvas.width, height: canvas.height, pixels: pixels, orientation: orientation,
            cleaned: output)
    }

    private struct Chunk {
        var name: String
        var payload: Range<Int>
    }

    private static func nextChunk(_ reader: inout PictureReader) throws(NotAPicture) -> Chunk {
        let name = String(decoding: reader.bytes[try reader.take(4)], as: UTF8.self)
        let length = try reader.littleEndian(4)
        let payload = try reader.take(length)
        if !length.isMultiple(of: 2) { _ = try reader.take(1) }
        return Chunk(name: name, payload: payload)
    }

    private static func append(_ name: String, _ payload: some Collection<UInt8>, to output: inout [UInt8]) {
        output += name.utf8
        output += littleEndian(payload.count)
        output += payload
        if !payload.count.isMultiple(of: 2) { output.append(0) }
    }

    private static func littleEndian(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// The size that the compressed picture itself tells, 14 bits a side.
    private static func bitstreamSize(
        _ bytes: [UInt8], _ chunk: Chunk
    ) throws(NotAPicture) -> (width: Int, height: Int) {
        var reader = PictureReader(bytes, in: chunk.payload)
        if chunk.name == "VP8L" {
            guard try reader.byte() == 0x2F else { throw NotAPicture("no start of a lossless WebP") }
            let bits = try reader.littleEndian(4)
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        _ = try reader.take(3)
        guard try reader.bigEndian(3) == 0x9D012A else { throw NotAPicture("no start of a lossy WebP") }
        let width = try reader.littleEndian(2) & 0x3FFF
        return (width, try reader.littleEndian(2) & 0x3FFF)
    }
}
