// Imports nothing, so that the HTTP/1.1 reader that fills it can be built and fuzzed by itself.

/// The fields of a message: names compare without regard to case, order and repeats are kept.
///
/// Names and values lie in one array of bytes. Of a request that is the head as it was received, so that reading a head
/// costs two allocations however many fields it has, and only what a handler asks for becomes a `String`.
package struct HTTPHeaders: Sendable {
    struct Field: Sendable {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32
    }

    var bytes: [UInt8]
    var fields: [Field]

    package init() {
        bytes = []
        fields = []
    }

    /// Takes over a head that was read; the ranges of `fields` lie inside `bytes`.
    init(bytes: [UInt8], fields: [Field]) {
        self.bytes = bytes
        self.fields = fields
    }

    /// Keeps the memory.
    mutating func removeAll() {
        fields.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    package var isEmpty: Bool { fields.isEmpty }
    package var count: Int { fields.count }

    /// The first value under this name. Setting replaces every field of the name by one; `nil` removes them.
    package subscript(_ name: String) -> String? {
        get {
            for field in fields where isNamed(field, name) { return value(of: field) }
            return nil
        }
        set {
            remove(name)
            if let newValue { add(name, newValue) }
        }
    }

    package func values(_ name: String) -> [String] {
        fields.compactMap { isNamed($0, name) ? value(of: $0) : nil }
    }

    /// Whether the first field of the name has exactly this value. Cheaper than asking for the value.
    package func has(_ name: String, _ value: String) -> Bool {
        for field in fields where isNamed(field, name) {
            let range = Int(field.valueStart)..<Int(field.valueEnd)
            guard range.count == value.utf8.count else { return false }
            return bytes.withUnsafeBufferPointer { bytes in
                value.utf8.withContiguousStorageIfAvailable { value in
                    for index in value.indices where bytes[range.lowerBound + index] != value[index] { return false }
                    return true
                } ?? value.utf8.elementsEqual(bytes[range])
            }
        }
        return false
    }

    package func contains(_ name: String) -> Bool {
        fields.contains { isNamed($0, name) }
    }

    /// Adds a field after the others. Control characters in the value become blanks, so that a value can never begin a field
    /// of its own (RFC 9110 section 5.5); a name that is not a token is not added.
    package mutating func add(_ name: String, _ value: String) {
        let start = bytes.count
        // Enough for the fields of most answers, so that the arrays grow once.
        if bytes.capacity == 0 { bytes.reserveCapacity(160) }
        if fields.capacity == 0 { fields.reserveCapacity(4) }
        bytes.append(contentsOf: name.utf8)
        let nameEnd = bytes.count
        let isToken = bytes.withUnsafeBufferPointer { $0[start...].allSatisfy(HTTPSyntax.isTokenByte) }
        guard nameEnd > start, isToken else {
            assertionFailure("\(name) is not the name of a field")
            bytes.removeSubrange(start...)
            return
        }
        bytes.append(contentsOf: value.utf8)
        bytes.withUnsafeMutableBufferPointer { bytes in
            for index in nameEnd..<bytes.count where !HTTPSyntax.isValueByte(bytes[index]) { bytes[index] = 32 }
        }
        fields.append(
            Field(
                nameStart: UInt32(start), nameEnd: UInt32(nameEnd),
                valueStart: UInt32(nameEnd), valueEnd: UInt32(bytes.count)))
    }

    package mutating func remove(_ name: String) {
        // The bytes stay behind; a message is short-lived.
        if contains(name) { fields = fields.filter { !isNamed($0, name) } }
    }

    /// Adds a field whose bytes are already known to be good.
    mutating func add(name: some Sequence<UInt8>, value: some Sequence<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: name)
        let nameEnd = bytes.count
        bytes.append(contentsOf: value)
        fields.append(
            Field(
                nameStart: UInt32(start), nameEnd: UInt32(nameEnd),
                valueStart: UInt32(nameEnd), valueEnd: UInt32(bytes.count)))
    }

    func name(of field: Field) -> String {
        String(decoding: bytes[Int(field.nameStart)..<Int(field.nameEnd)], as: UTF8.self)
    }

    func value(of field: Field) -> String {
        String(decoding: bytes[Int(field.valueStart)..<Int(field.valueEnd)], as: UTF8.self)
    }

    func isNamed(_ field: Field, _ name: String) -> Bool {
        let utf8 = name.utf8
        guard Int(field.nameEnd &- field.nameStart) == utf8.count else { return false }
        var index = Int(field.nameStart)
        for byte in utf8 {
            if HTTPSyntax.lowercased(bytes[index]) != HTTPSyntax.lowercased(byte) { return false }
            index &+= 1
        }
        return true
    }
}

extension HTTPHeaders: Sequence {
    package struct Iterator: IteratorProtocol {
        let headers: HTTPHeaders
        var index = 0

        package mutating func next() -> (name: String, value: String)? {
            guard index < headers.fields.count else { return nil }
            defer { index += 1 }
            let field = headers.fields[index]
            return (headers.name(of: field), headers.value(of: field))
        }
    }

    package func makeIterator() -> Iterator { Iterator(headers: self) }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        self.init()
        for (name, value) in elements { add(name, value) }
    }
}

extension HTTPHeaders: CustomStringConvertible {
    package var description: String { map { "\($0.name): \($0.value)" }.joined(separator: "\n") }
}

/// The alphabets of RFC 9110 section 5.6 and RFC 3986.
enum HTTPSyntax {
    /// `tchar`, RFC 9110 section 5.6.2.
    @inline(__always)
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true
        // ! # $ % & ' * + - . ^ _ ` | ~
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    /// What may stand in a field value: HTAB, blank, visible ASCII and `obs-text`, RFC 9110 section 5.5.
    @inline(__always)
    static func isValueByte(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == 0x09
    }

    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// Visible ASCII without `#`: a request target never carries a fragment (RFC 9112 section 3.2).
    @inline(__always)
    static func isTargetByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != 0x23
    }

    /// `uri-host [ ":" port ]` of RFC 9110 section 7.2, not empty. A comma is refused although a registered name may
    /// hold one: it is what two Host fields folded together look like.
    static func isHost(_ text: some Collection<UInt8>) -> Bool {
        var rest = text[...]
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = rest[rest.index(after: rest.startIndex)..<end]
            guard !address.isEmpty, address.allSatisfy({ hexValue($0) != nil || $0 == 0x3A || $0 == 0x2E }) else {
                return false
            }
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            guard end > rest.startIndex, rest[..<end].allSatisfy(isNameByte) else { return false }
            rest = rest[end...]
        }
        guard let colon = rest.first else { return true }
        return colon == UInt8(ascii: ":") && rest.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
            && rest.count <= 6
    }

    /// `reg-name` of RFC 3986 section 3.2.2 without the comma.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true
        // - . _ ~ % ! $ & ' ( ) * + ; =
        case 0x2D, 0x2E, 0x5F, 0x7E, 0x25, 0x21, 0x24, 0x26...0x2B, 0x3B, 0x3D: true
        default: false
        }
    }
}
