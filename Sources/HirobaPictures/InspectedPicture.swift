/// What the bytes of a picture say about it, and the same picture without anything but what is seen.
///
/// Nothing is decoded: metadata are whole segments of a file, and leaving them out changes no pixel. Who wrote the file
/// may be hostile, so every length is checked against what is there.
package struct InspectedPicture: Sendable {
    package var format: PictureFormat
    package var width: Int
    package var height: Int
    /// What a decoder must hold: the canvas, or a frame if one is larger.
    package var pixels: Int
    /// As in Exif: 1 is upright, 2 to 8 are turned or mirrored. It is among what `cleaned` no longer says.
    package var orientation: Int
    /// Without camera data, place, comments, programs' own data, and whatever follows the end of the picture. The bytes
    /// that were given, if there was nothing of the kind.
    package var cleaned: [UInt8]

    /// - Returns: `nil` for formats whose metadata cannot be cut out here: HEIC, AVIF and TIFF.
    /// - Throws: `NotAPicture` when the bytes do not have the structure of their format from the first to the last.
    package init?(_ bytes: [UInt8], as format: PictureFormat) throws(NotAPicture) {
        switch format {
        case .jpeg: self = try JPEG.inspect(bytes)
        case .png: self = try PNG.inspect(bytes)
        case .webp: self = try WebP.inspect(bytes)
        case .gif: self = try GIF.inspect(bytes)
        case .heic, .avif, .tiff: return nil
        }
    }

    init(
        format: PictureFormat, width: Int, height: Int, pixels: Int? = nil, orientation: Int = 1, cleaned: [UInt8]
    ) throws(NotAPicture) {
        guard width > 0, height > 0 else { throw NotAPicture("a side of no pixels") }
        self.format = format
        self.width = width
        self.height = height
        self.pixels = max(width * height, pixels ?? 0)
        self.orientation = orientation
        self.cleaned = cleaned
    }
}

/// The bytes break the rules of their format. The reason is for logs.
package struct NotAPicture: Error, Equatable {
    package var reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// Reads from the front; whatever is not there is `NotAPicture`.
struct PictureReader {
    let bytes: [UInt8]
    private(set) var position: Int
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    /// Reads only this part of `bytes`; positions stay those of the whole.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        let range = range.clamped(to: 0..<bytes.count)
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    mutating func take(_ count: Int) throws(NotAPicture) -> Range<Int> {
        guard count >= 0, count <= end - position else { throw NotAPicture("it ends too early") }
        let start = position
        position += count
        return start..<position
    }

    mutating func byte() throws(NotAPicture) -> UInt8 { bytes[try take(1).lowerBound] }

    mutating func bigEndian(_ count: Int) throws(NotAPicture) -> Int {
        bytes[try take(count)].reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func littleEndian(_ count: Int) throws(NotAPicture) -> Int {
        bytes[try take(count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Goes on to the next `byte`, or to the end if there is none.
    mutating func skip(to byte: UInt8) {
        position = bytes[position..<end].firstIndex(of: byte) ?? end
    }

    /// The byte after the next one.
    var second: UInt8? { end - position >= 2 ? bytes[position + 1] : nil }
}

/// Collects parts of the input, and gives the input itself back when all of it was kept.
struct KeptParts {
    private let input: [UInt8]
    private var ranges: [Range<Int>] = []

    init(of input: [UInt8]) { self.input = input }

    mutating func keep(_ range: Range<Int>) {
        if let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
        } else {
            ranges.append(range)
        }
    }

    var bytes: [UInt8] {
        if ranges == [0..<input.count] { return input }
        var output: [UInt8] = []
        output.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
        for range in ranges { output += input[range] }
        return output
    }
}
