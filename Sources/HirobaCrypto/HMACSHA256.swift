import COpenSSL

/// HMAC with SHA-256 (RFC 2104): proves that whoever made the 32 bytes knew the key. Compare with `constantTimeEqual`.
package enum HMACSHA256 {
    package static func sign(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        let result = HMAC(
            SHA256.algorithm.pointer, key, CInt(clamping: key.count), message, message.count, &code, nil)
        precondition(result != nil, "HMAC-SHA-256 failed")
        return code
    }
}

/// Whether both are the same, in a time that depends on their length only. For whatever an attacker may try out byte
/// by byte: signatures, token hashes, form tokens.
package func constantTimeEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
}
