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
