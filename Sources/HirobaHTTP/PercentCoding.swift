/// Percent escapes, RFC 3986 section 2.1.
package enum PercentCoding {
    /// The text behind the escapes, or `nil` when an escape is broken, means NUL or the result is not UTF-8.
    package static func decode(_ bytes: some Collection<UInt8>) -> String? {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index = bytes.index(after: index)
            guard byte == UInt8(ascii: "%") else {
                out.append(byte)
                continue
            }
            guard index < bytes.endIndex, let high = HTTPSyntax.hexValue(bytes[index]) else { return nil }
            index = bytes.index(after: index)
            guard index < bytes.endIndex, let low = HTTPSyntax.hexValue(bytes[index]) else { return nil }
            index = bytes.index(after: index)
            out.append(high << 4 | low)
        }
        if out.contains(0) { return nil }
        return String(validating: out, as: UTF8.self)
    }
}
