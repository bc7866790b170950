import CSodium

/// Bytes nobody can predict, from the kernel's generator.
package func randomBytes(_ count: Int) -> [UInt8] {
    requireSodium()
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        if let start = buffer.baseAddress { randombytes_buf(start, count) }
        filled = count
    }
}

/// A secret that whoever holds it may use: sessions, form tokens. Keep its SHA-256, not the token.
package enum Token {
    /// 256 random bits as 43 characters that need no escaping in a header, an address or a cookie.
    package static func random256() -> String { Base64URL.encode(randomBytes(32)) }
}

/// The name of a stored thing: 16 letters and digits, 95 random bits. It cannot be guessed, but it is no secret.
package enum ObjectID {
    package static func random() -> String {
        var characters: [UInt8] = []
        characters.reserveCapacity(length)
        while characters.count < length {
            // 248 is the largest multiple of 62 in a byte. Taking a higher byte modulo 62 would favour some characters.
            for byte in randomBytes(length + 8) where byte < 248 && characters.count < length {
                characters.append(alphabet[Int(byte % 62)])
            }
        }
        return String(decoding: characters, as: UTF8.self)
    }

    private static let length = 16
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}

/// The names some protocols ask for: 8-4-4-4-12 hexadecimal digits.
package enum UUIDText {
    /// 122 random bits (version 4 of RFC 9562), in small letters.
    package static func random() -> String {
        var bytes = randomBytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let groups = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
        return groups.map { Hex.encode(Array($0)) }.joined(separator: "-")
    }

    /// Whether the text has that form, in letters of either case; the version does not matter.
    package static func isOne(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count == 36 else { return false }
            for index in 0..<36 {
                let isDash = index == 8 || index == 13 || index == 18 || index == 23
                switch bytes[index] {
                case UInt8(ascii: "-"): guard isDash else { return false }
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    guard !isDash else { return false }
                default: return false
                }
            }
            return true
        }
    }
}
