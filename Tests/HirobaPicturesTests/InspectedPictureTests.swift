import HirobaPictures
import Testing
import TestSupport

struct InspectedPictureTests {
    /// One of each format whose metadata are cut out, with metadata.
    private static let samples: [[UInt8]] = [
        SamplePictures.jpegFromPhone(orientation: 6), pngWithMetadata, SamplePictures.webp,
        SamplePictures.webpWithAlpha,
        SamplePictures.losslessWebP, gifWithMetadata,
    ]

    private static let pngWithMetadata: [UInt8] = {
        let png = SamplePictures.blackPNG(width: 16, height: 8)
        let secret = Array(SamplePictures.secret.utf8)
        // The head is 8 bytes of signature and 25 of IHDR; the end is the 12 bytes of IEND.
        var bytes = Array(png.prefix(33))
        bytes += SamplePictures.pngChunk("tEXt", Array("Comment\0".utf8) + secret)
        bytes += SamplePictures.pngChunk("pHYs", [0, 0, 11, 18, 0, 0, 11, 18, 1])
        bytes += SamplePictures.pngChunk("tIME", [7, 234, 1, 1, 0, 0, 0])
        bytes += SamplePictures.pngChunk("prVt", secret)
        bytes += png.dropFirst(33).dropLast(12)
        bytes += SamplePictures.pngChunk("eXIf", SamplePictures.exif(orientation: 8))
        bytes += png.suffix(12)
        return bytes + secret
    }()

    private static let gifWithMetadata: [UInt8] = {
        let secret = Array(SamplePictures.secret.utf8)
        let length = UInt8(secret.count)
        let comment: [UInt8] = [0x21, 0xFE, length] + secret + [0]
        let xmp: [UInt8] = [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + [length] + secret + [0]
        let gif = SamplePictures.gif
        // The head is 13 bytes and 4 colours; the end is one byte.
        var bytes = Array(gif.prefix(25))
        bytes += comment + xmp
        bytes += gif.dropFirst(25).dropLast()
        bytes += comment + [0x3B]
        return bytes + secret
    }()

    private func inspect(_ bytes: [UInt8]) throws -> InspectedPicture {
        let format = try #require(PictureFormat(of: bytes))
        return try #require(try InspectedPicture(bytes, as: format))
    }

    @Test("Metadata go, size and orientation are told", arguments: samples)
    func metadata(bytes: [UInt8]) throws {
        let picture = try inspect(bytes)
        #expect(picture.width == 16)
        #expect(picture.height == 8)
        #expect(picture.pixels == 128)
        #expect(picture.orientation == [.jpeg: 6, .png: 8][picture.format, default: 1])
        #expect(picture.cleaned.count < bytes.count)
        for trace in [SamplePictures.secret, "Exif", "EXIF", "eXIf", "XMP", "Photoshop", "tIME"] {
            #expect(!contains(picture.cleaned, Array(trace.utf8)), "\(trace) is left in \(picture.format)")
        }
        // What comes out is whole, and clean.
        let again = try inspect(picture.cleaned)
        #expect(again.cleaned == picture.cleaned)
        #expect(again.orientation == 1)
        #expect(again.width == 16)
    }

    @Test("A clean picture comes back byte for byte")
    func cleanPictures() throws {
        for bytes in [SamplePictures.jpeg, SamplePictures.blackPNG(width: 300, height: 200), SamplePictures.gif] {
            #expect(try inspect(bytes).cleaned == bytes)
        }
    }

    @Test("What a JPEG needs to be seen stays: its size on paper, its profile, its colour transform")
    func keptSegments() throws {
        let jfif = SamplePictures.jpegSegment(0xE0, Array("JFIF\0".utf8) + [1, 1, 1, 0, 72, 0, 72, 0, 0])
        let profile = SamplePictures.jpegSegment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1, 1, 2, 3])
        let adobe = SamplePictures.jpegSegment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1])
        let bytes = [0xFF, 0xD8] + jfif + profile + adobe + SamplePictures.jpeg.dropFirst(2)
        #expect(try inspect(bytes).cleaned == bytes)
    }

    @Test("Small copies of a JPEG go: they may show what was cut off")
    func smallCopies() throws {
        let jfif = SamplePictures.jpegSegment(0xE0, Array("JFIF\0".utf8) + [1, 1, 1, 0, 72, 0, 72, 1, 1, 9, 9, 9])
        let jfxx = SamplePictures.jpegSegment(0xE0, Array("JFXX\0".utf8) + [0x13, 1, 1, 9, 9, 9])
        let index = SamplePictures.jpegSegment(0xE2, Array("MPF\0".utf8) + [9, 9, 9])
        let bytes = [0xFF, 0xD8] + jfif + jfxx + index + SamplePictures.jpeg.dropFirst(2)
        #expect(try inspect(bytes).cleaned == SamplePictures.jpeg)
    }

    @Test("Metadata between two scans of a JPEG go, and the scans stay as they are")
    func severalScans() throws {
        let jpeg = SamplePictures.jpeg
        let end = jpeg.count - 2
        // A scan with a stuffed byte, a restart and a fill byte at its end.
        let scan = SamplePictures.jpegSegment(0xDA, [1, 1, 0, 0, 63, 0]) + [1, 2, 0xFF, 0, 3, 0xFF, 0xD0, 4, 0xFF]
        let comment = SamplePictures.jpegSegment(0xFE, [9, 9])
        let bytes = Array(jpeg.prefix(end)) + comment + scan + [0xFF, 0xD9]
        #expect(try inspect(bytes).cleaned == Array(jpeg.prefix(end)) + scan + [0xFF, 0xD9])
    }

    @Test("Big-endian camera data are understood, and damaged ones mean upright")
    func exif() throws {
        func orientation(_ exif: [UInt8]) throws -> Int {
            let segment = SamplePictures.jpegSegment(0xE1, Array("Exif\0\0".utf8) + exif)
            return try inspect([0xFF, 0xD8] + segment + SamplePictures.jpeg.dropFirst(2)).orientation
        }
        let entry: [UInt8] = [1, 0x12, 0, 3, 0, 0, 0, 1, 0, 3, 0, 0]
        #expect(try orientation([0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1] + entry) == 3)
        #expect(try orientation([0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 255, 255] + entry) == 3)
        #expect(try orientation([0x4D, 0x4D, 0, 42, 255, 255, 255, 255, 0, 1] + entry) == 1)
        #expect(try orientation([0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 2]) == 1)
        #expect(try orientation(SamplePictures.exif(orientation: 9)) == 1)
        #expect(try orientation(SamplePictures.exif(orientation: 0)) == 1)
        #expect(try orientation([]) == 1)
    }

    @Test("A moving WebP keeps its frames; what else lies in them goes")
    func movingWebP() throws {
        func chunk(_ name: String, _ payload: [UInt8]) -> [UInt8] {
            var chunk = Array(name.utf8) + [UInt8(payload.count), 0, 0, 0] + payload
            if !payload.count.isMultiple(of: 2) { chunk.append(0) }
            return chunk
        }
        func file(_ chunks: [UInt8]) -> [UInt8] {
            let body = Array("WEBP".utf8) + chunks
            return Array("RIFF".utf8) + [UInt8(body.count), 0, 0, 0] + body
        }
        let head = chunk("VP8X", [0x02, 0, 0, 0, 15, 0, 0, 7, 0, 0])
        let animation = chunk("ANIM", [0, 0, 0, 0, 0, 0])
        // Lossless, 100 × 50: the fourteen bits of each side minus one.
        let picture = chunk("VP8L", [0x2F, 99, 0x40, 12, 0, 1, 2])
        let place = [UInt8](repeating: 0, count: 16)
        let bytes = file(head + animation + chunk("ANMF", place + picture + chunk("junk", [1, 2, 3])))
        let inspected = try inspect(bytes)
        #expect(inspected.cleaned == file(head + animation + chunk("ANMF", place + picture)))
        #expect(inspected.width == 16)
        // A frame that is larger than the canvas counts with its own size.
        #expect(inspected.pixels == 5_000)
    }

    @Test("A GIF frame that is larger than the screen counts with its own size")
    func largeFrame() throws {
        var gif = SamplePictures.gif
        let frame = try #require(gif.firstIndex(of: 0x2C))
        gif.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try inspect(gif).pixels == 65_535 * 65_535)
    }

    @Test("A PNG that needs an unknown chunk is refused")
    func unknownNeed() throws {
        let png = SamplePictures.blackPNG(width: 1, height: 1)
        let bytes = Array(png.prefix(33)) + SamplePictures.pngChunk("NEED", []) + png.dropFirst(33)
        #expect(throws: NotAPicture.self) { try inspect(bytes) }
    }

    @Test("A side of no pixels is refused")
    func noPixels() throws {
        #expect(throws: NotAPicture.self) { try inspect(SamplePictures.blackPNG(width: 0, height: 5)) }
    }

    @Test("A file that ends too early is refused, wherever it ends", arguments: samples)
    func truncated(bytes: [UInt8]) throws {
        let format = try #require(PictureFormat(of: bytes))
        let whole = try inspect(bytes).cleaned
        for count in 0..<whole.count {
            #expect(throws: NotAPicture.self, "\(format) of \(count) bytes") {
                try InspectedPicture(Array(whole.prefix(count)), as: format)
            }
        }
    }

    @Test("No bytes whatever end the process", arguments: samples)
    func mutated(bytes: [UInt8]) throws {
        let format = try #require(PictureFormat(of: bytes))
        var random = Random(seed: 42)
        for _ in 0..<3_000 {
            var mutant = bytes
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<mutant.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: mutant[index] = .random(in: 0...255, using: &random)
                case 1: mutant[index] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
                case 2: mutant.remove(at: index)
                default: mutant.insert(.random(in: 0...255, using: &random), at: index)
                }
            }
            // What is let through must be let through again, unchanged: nothing of the damage may hide something.
            guard let picture = try? InspectedPicture(mutant, as: format) else { continue }
            let again = try #require(try InspectedPicture(picture.cleaned, as: format))
            #expect(again.cleaned == picture.cleaned)
        }
    }
}

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: part) }
}

/// The same sequence in every run (SplitMix64).
private struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
