// Imports nothing: part of what is fuzzed by itself.

/// The forms a request target takes, RFC 9112 section 3.2.
enum HTTPTarget {
    /// The bytes of the path within a target that was checked before.
    static func path(in target: String) -> Range<Int> {
        var target = target
        return target.withUTF8 { bytes in
            let start = bytes.first == UInt8(ascii: "/") ? 0 : (absoluteAuthority(in: bytes)?.upperBound ?? 0)
            return start..<pathEnd(in: bytes, from: start)
        }
    }

    static func pathEnd(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "?") { index += 1 }
        return index
    }

    /// Where the authority of `http://authority/path` lies, or `nil` when the target has no such form.
    static func absoluteAuthority(in bytes: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        let start: Int
        if hasPrefix("http://", bytes) {
            start = 7
        } else if hasPrefix("https://", bytes) {
            start = 8
        } else {
            return nil
        }
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") { end += 1 }
        return start..<end
    }

    private static func hasPrefix(_ prefix: StaticString, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount
        where HTTPSyntax.lowercased(bytes[index]) != prefix.utf8Start[index] {
            return false
        }
        return true
    }
}
