/// Text in addresses.
package enum URIText {
    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    /// The text with every byte escaped that is not unreserved (RFC 3986): letters, digits, `-`, `.`, `_` and `~` stay.
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigits[Int(byte >> 4)])
                bytes.append(hexDigits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text that an escaped one stands for; nil when an escape is broken or the bytes are not UTF-8.
    ///
    /// - Parameter plusIsSpace: as in a query, where forms write a blank as `+`.
    package static func unescaped(_ text: some StringProtocol, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        let result = String(decoding: bytes, as: UTF8.self)
        // Decoding repairs what is not UTF-8, which lengthens or changes it; a faithful text has the same bytes.
        return result.utf8.elementsEqual(bytes) ? result : nil
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The names and values of a query in order; nil when an escape is broken.
    package static func queryItems(_ query: String) -> [(name: String, value: String)]? {
        var items: [(name: String, value: String)] = []
        for part in query.utf8.split(separator: UInt8(ascii: "&")) {
            let pieces = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = unescaped(Substring(pieces[0]), plusIsSpace: true),
                let value = pieces.count > 1 ? unescaped(Substring(pieces[1]), plusIsSpace: true) : ""
            else { return nil }
            items.append((name, value))
        }
        return items
    }
}
