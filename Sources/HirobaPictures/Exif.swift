/// The one thing of interest in camera data: which way is up.
enum Exif {
    /// The tag 0x0112 of the first directory, or 1 when the data is damaged or says nothing: viewers then show the
    /// picture as it lies.
    static func orientation(in bytes: [UInt8], range: Range<Int>) -> Int {
        (try? search(bytes, range)).flatMap { (1...8).contains($0) ? $0 : nil } ?? 1
    }

    private static func search(_ bytes: [UInt8], _ range: Range<Int>) throws(NotAPicture) -> Int {
        var reader = PictureReader(bytes, in: range)
        let isLittleEndian: Bool
        switch try reader.bigEndian(2) {
        case 0x4949: isLittleEndian = true
        case 0x4D4D: isLittleEndian = false
        default: throw NotAPicture("camera data in no known byte order")
        }
        func number(_ count: Int) throws(NotAPicture) -> Int {
            isLittleEndian ? try reader.littleEndian(count) : try reader.bigEndian(count)
        }
        guard try number(2) == 42 else { throw NotAPicture("camera data without their mark") }
        let directory = try number(4)
        reader = PictureReader(bytes, in: range)
        _ = try reader.take(directory)
        for _ in 0..<(try number(2)) {
            let (tag, type, count) = (try number(2), try number(2), try number(4))
            if tag == 0x0112, count == 1, type == 3 { return try number(2) }
            _ = try reader.take(4)
        }
        return 1
    }
}
