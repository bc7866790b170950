/// Small pictures of every kind. Each but `blackPNG` shows the same: 16 × 8 pixels, the left half red, the right half blue.
package enum SamplePictures {
    /// Without any metadata, not even a JFIF segment.
    package static let jpeg = base64(
        """
        /9j/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARES
        EhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAIABADASIAAhEB
        AxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAABf/EABkRAAID
        AQAAAAAAAAAAAAAAAABDBYHBBv/aAAwDAQACEQMRAD8Aio4FOdbWjM8u8P/Z
        """)

    /// As a phone writes it: camera data with a place, an editor's data, a comment, and a second picture after the end.
    package static func jpegFromPhone(orientation: UInt8) -> [UInt8] {
        var bytes = Array(jpeg.prefix(2))
        bytes += jpegSegment(0xE1, Array("Exif\0\0".utf8) + exif(orientation: orientation))
        bytes += jpegSegment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>\(secret)</x:xmpmeta>".utf8))
        bytes += jpegSegment(0xED, Array("Photoshop 3.0\0\(secret)".utf8))
        bytes += jpegSegment(0xFE, Array("comment: \(secret)".utf8))
        bytes += jpeg.dropFirst(2)
        return bytes + jpeg + Array(secret.utf8)
    }

    package static func jpegSegment(_ marker: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + payload
    }

    /// Stands in all metadata made here, so that a test can look for it in what comes out.
    package static let secret = "35.6586N 139.7454E"

    /// Orientation and the place in two directories, as in a TIFF file.
    package static func exif(orientation: UInt8) -> [UInt8] {
        // II, 42, first directory at 8; two entries: orientation, and where the directory of the place is.
        var data: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 2, 0]
        data += [0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
        data += [0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0]
        data += [0, 0, 0, 0]
        // One entry: a text, which for a test may hold both coordinates.
        data += [1, 0, 0x1B, 0, 2, 0, UInt8(secret.utf8.count), 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0]
        return data + Array(secret.utf8)
    }

    /// With the camera data of its writer.
    package static let webp = base64(
        """
        UklGRhABAABXRUJQVlA4WAoAAAAIAAAADwAABwAAVlA4IDAAAABwAQCdASoQAAgAAsBMJaACdAFAAAD+8Ms//o+//rb//Wh/rb+tt/9t
        D03//rQTQABFWElGugAAAEV4aWYAAElJKgAIAAAABgASAQMAAQAAAAEAAAAaAQUAAQAAAFYAAAAbAQUAAQAAAF4AAAAoAQMAAQAAAAIA
        AAATAgMAAQAAAAEAAABphwQAAQAAAGYAAAAAAAAAOGMAAOgDAAA4YwAA6AMAAAYAAJAHAAQAAAAwMjEwAZEHAAQAAAABAgMAAKAHAAQA
        AAAwMTAwAaADAAEAAAD//wAAAqAEAAEAAAAQAAAAA6AEAAEAAAAIAAAAAAAAAA==
        """)

    /// Half transparent.
    package static let webpWithAlpha = base64(
        """
        UklGRiQBAABXRUJQVlA4WAoAAAAYAAAADwAABwAAQUxQSAoAAAABB1DAiAhERP8DVlA4IDIAAACQAQCdASoQAAgAAgA0JaACdLoAA5gA
        /vZQf/185v/IMf/ID+xr/kB//5Ac8f+QHAQAAEVYSUa6AAAARXhpZgAASUkqAAgAAAAGABIBAwABAAAAAQAAABoBBQABAAAAVgAAABsB
        BQABAAAAXgAAACgBAwABAAAAAgAAABMCAwABAAAAAQAAAGmHBAABAAAAZgAAAAAAAAA4YwAA6AMAADhjAADoAwAABgAAkAcABAAAADAy
        MTABkQcABAAAAAECAwAAoAcABAAAADAxMDABoAMAAQAAAP//AAACoAQAAQAAABAAAAADoAQAAQAAAAgAAAAAAAAA
        """)

    package static let losslessWebP = base64(
        """
        UklGRvoAAABXRUJQVlA4WAoAAAAIAAAADwAABwAAVlA4TBkAAAAvD8ABAA8Q87//8x8OxILJ/KU7U4jof+QAAEVYSUa6AAAARXhpZgAA
        SUkqAAgAAAAGABIBAwABAAAAAQAAABoBBQABAAAAVgAAABsBBQABAAAAXgAAACgBAwABAAAAAgAAABMCAwABAAAAAQAAAGmHBAABAAAA
        ZgAAAAAAAAA4YwAA6AMAADhjAADoAwAABgAAkAcABAAAADAyMTABkQcABAAAAAECAwAAoAcABAAAADAxMDABoAMAAQAAAP//AAACoAQA
        AQAAABAAAAADoAQAAQAAAAgAAAAAAAAA
        """)

    /// Repeats for ever, and has nothing else besides the picture.
    package static let gif = base64(
        """
        R0lGODlhEAAIAIEAAEdwTAAA//8AAAAAACH/C05FVFNDQVBFMi4wAwEAAAAh+QQFAAAAACwAAAAAEAAIAAACE5RvoauIzNyBSyYarMDZ
        cv15WAEAOw==
        """)

    package static let heic = base64(
        """
        AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAa1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5w
        aXRtAAAAAAACAAAAEGlkYXQAAAAAABAACAAAADhpbG9jAQAAAERAAAIAAQAAAAAAAAHRAAEAAAAAAAAAMwACAAEAAAAAAAAAAQAAAAAA
        AAAIAAAAOGlpbmYAAAAAAAIAAAAVaW5mZQIAAAEAAQAAaHZjMQAAAAAVaW5mZQIAAAAAAgAAZ3JpZAAAAADYaXBycAAAALZpcGNvAAAA
        dmh2Y0MBA3AAAAAAAAAAAAAe8AD8/fj4AAAPAyAAAQAYQAEMAf//A3AAAAMAkAAAAwAAAwAeugJAIQABACpCAQEDcAAAAwCQAAADAAAD
        AB6gIIEFluqumubgQEDAgAAAAwCAAAADAIQiAAEABkQBwXPBiQAAABRpc3BlAAAAAAAAAEAAAABAAAAAFGlzcGUAAAAAAAAAEAAAAAgA
        AAAQcGl4aQAAAAADCAgIAAAAGmlwbWEAAAAAAAAAAgABAoECAAICA4QAAAAaaXJlZgAAAAAAAAAOZGltZwACAAEAAQAAADttZGF0AAAA
        LygBrxkhcEJA95Z2v0hsV4jKvhwH8O8t8sKYAe7DCKSN8fN1SGcFtLNFnfCvX8f3
        """)

    package static let avif = base64(
        """
        AAAAHGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZgAAAOptZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5w
        aXRtAAAAAAABAAAAImlsb2MAAAAAREAAAQABAAAAAAEOAAEAAAAAAAAAJAAAACNpaW5mAAAAAAABAAAAFWluZmUCAAAAAAEAAGF2MDEA
        AAAAamlwcnAAAABLaXBjbwAAABNjb2xybmNseAACAAIABoAAAAAMYXYxQ4EADAAAAAAUaXNwZQAAAAAAAAAQAAAACAAAABBwaXhpAAAA
        AAMICAgAAAAXaXBtYQAAAAAAAAABAAEEgYIDhAAAACxtZGF0EgAKCBgMv7BAgIGhMhYbABpppoQAtyk8q+C8Ab7+2BLGIfT6
        """)

    package static let tiff = base64(
        """
        SUkqACAAAAB4nPvPgB0wMvzHKo5ddFQ9ueoBq4QP+QAQAAABAwABAAAAEAAAAAEBAwABAAAACAAAAAIBAwADAAAA9gAAAAMBAwABAAAA
        CAAAAAYBAwABAAAAAgAAABEBBAABAAAACAAAABIBAwABAAAAAQAAABUBAwABAAAAAwAAABYBAwABAAAAgAAAABcBBAABAAAAFwAAABoB
        BQABAAAA5gAAABsBBQABAAAA7gAAABwBAwABAAAAAQAAACgBAwABAAAAAwAAAD0BAwABAAAAAgAAAFMBAwADAAAA/AAAAAAAAAAKAAAA
        AQAAAAoAAAABAAAACAAIAAgAAQABAAEA
        """)

    /// Black, one bit a pixel, whatever the size: a page of text for 400 megapixels.
    package static func blackPNG(width: Int, height: Int) -> [UInt8] {
        var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        png += pngChunk("IHDR", bigEndian(width) + bigEndian(height) + [1, 0, 0, 0, 0])
        png += pngChunk("IDAT", compressedZeros(height * (1 + (width + 7) / 8)))
        png += pngChunk("IEND", [])
        return png
    }

    package static func pngChunk(_ name: String, _ payload: [UInt8]) -> [UInt8] {
        let named = Array(name.utf8) + payload
        return bigEndian(payload.count) + named + bigEndian(Int(crc32(named)))
    }

    private static func bigEndian(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var table: [UInt32] = []
        for index in 0..<UInt32(256) {
            var value = index
            for _ in 0..<8 { value = value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
            table.append(value)
        }
        var sum = ~UInt32(0)
        for byte in bytes { sum = table[Int((sum ^ UInt32(byte)) & 255)] ^ (sum >> 8) }
        return ~sum
    }

    /// A zlib stream (RFC 1950, 1951) of one block in fixed codes: a zero, and "copy 258 bytes from one byte back" as
    /// often as needed.
    private static func compressedZeros(_ count: Int) -> [UInt8] {
        var output: [UInt8] = [0x78, 0x9C]
        var pending: UInt32 = 0
        var pendingBits: UInt32 = 0
        func put(_ bits: UInt32, _ number: UInt32) {
            pending |= bits << pendingBits
            pendingBits += number
            while pendingBits >= 8 {
                output.append(UInt8(pending & 255))
                pending >>= 8
                pendingBits -= 8
            }
        }
        // Huffman codes go in from their highest bit.
        func putCode(_ code: UInt32, _ number: UInt32) {
            for bit in (0..<number).reversed() { put(code >> bit & 1, 1) }
        }
        put(0b011, 3)
        let copies = (count - 1) / 258
        for _ in 0..<(count - copies * 258) { putCode(0b0011_0000, 8) }
        for _ in 0..<copies {
            putCode(0b1100_0101, 8)
            putCode(0, 5)
        }
        putCode(0, 7)
        put(0, 7)
        return output + bigEndian((count % 65521) << 16 | 1)
    }

    private static func base64(_ text: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var output: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in text.utf8 {
            guard let value = alphabet.firstIndex(of: character) else { continue }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                output.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return output
    }
}
