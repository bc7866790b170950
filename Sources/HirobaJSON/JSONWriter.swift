extension JSON {
    /// The value as compact JSON in UTF-8.
    public func bytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    /// The value with line breaks and two spaces for each level, for people and for files under version control.
    public func prettyBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.pretty(self, indent: 0)
        return writer.bytes
    }
}

/// Writes JSON onto an array of bytes. Commas are set by themselves; that every bracket is closed and every member
/// has a name is up to the caller.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.name("items")
/// writer.beginArray()
/// writer.raw(storedText)      // a value that is JSON already
/// writer.endArray()
/// writer.endObject()
/// ```
public struct JSONWriter: Sendable {
    /// What has been written, after what the writer was started with.
    public var bytes: [UInt8]
    private let start: Int

    /// A writer that appends to bytes.
    public init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
        start = bytes.count
    }

    /// Opens an object.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Closes an object.
    public mutating func endObject() { bytes.append(UInt8(ascii: "}")) }
    /// Opens a list.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Closes a list.
    public mutating func endArray() { bytes.append(UInt8(ascii: "]")) }

    /// A member's name. Its value comes next.
    public mutating func name(_ name: String) {
        comma()
        quoted(name)
        bytes.append(UInt8(ascii: ":"))
    }

    /// A member's name that is known beforehand: with the comma before it and the colon behind it, `,"id":`. What comes
    /// next is its value.
    package mutating func member(_ text: StaticString) {
        let skipped = isCommaDue ? 0 : 1
        // Unsafe for speed only: the text lives as long as the program.
        unsafe bytes.append(
            contentsOf: UnsafeBufferPointer(
                start: text.utf8Start + skipped, count: text.utf8CodeUnitCount - skipped))
    }

    /// `null`.
    public mutating func null() {
        comma()
        bytes.append(contentsOf: "null".utf8)
    }

    /// A truth value.
    public mutating func bool(_ value: Bool) {
        comma()
        bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    }

    /// A whole number.
    public mutating func integer(_ value: Int64) {
        comma()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        digits(value.magnitude)
    }

    /// A whole number.
    public mutating func integer(_ value: UInt64) {
        comma()
        digits(value)
    }

    /// A whole number.
    public mutating func integer(_ value: Int) { integer(Int64(value)) }

    /// A number as it is spelt.
    public mutating func number(_ value: JSONNumber) {
        comma()
        bytes.append(contentsOf: value.text.utf8)
    }

    /// A text.
    public mutating func string(_ value: String) {
        comma()
        quoted(value)
    }

    /// A moment, in milliseconds since 1970, as RFC 3339.
    mutating func timestamp(_ milliseconds: Int64) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        Timestamp.append(milliseconds, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// A value that is JSON already. It is not looked at.
    public mutating func raw(_ json: some Sequence<UInt8>) {
        comma()
        bytes.append(contentsOf: json)
    }

    /// Any value.
    public mutating func value(_ value: JSON) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .number(let value): number(value)
        case .string(let value): string(value)
        case .array(let values):
            beginArray()
            for value in values { self.value(value) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    private mutating func open(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
    }

    @inline(__always)
    private mutating func comma() {
        if isCommaDue { bytes.append(UInt8(ascii: ",")) }
    }

    /// A comma is due unless something was just opened: what ends a value is a quote, a digit, a letter or a bracket,
    /// and none of these four.
    @inline(__always)
    private var isCommaDue: Bool {
        guard let last = bytes.last, bytes.count > start else { return false }
        return switch last {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"), UInt8(ascii: ","): false
        default: true
        }
    }

    private mutating func digits(_ value: UInt64) {
        var rest = value
        let first = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[first...].reverse()
    }

    private mutating func quoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        // Unsafe for speed only: texts without escapes are appended in one piece. The pointer does not leave the
        // closure.
        let isWritten = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe appendPlain($0) }
        if isWritten != true {
            for character in text.utf8 { escaped(character) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends characters that need no escape; answers false, having done nothing, when one does.
    private mutating func appendPlain(_ characters: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        var found: UInt64 = 0
        // Eight at a time. The high bit of a byte stays set where the byte is below 0x20 or has become zero, that is,
        // was a quote or a backslash; a borrow can add a bit only above a byte where one is set already.
        while index + 8 <= characters.count {
            let word = unsafe UnsafeRawPointer(characters.baseAddress.unsafelyUnwrapped)
                .loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quote = word ^ Self.each(UInt8(ascii: "\""))
            let backslash = word ^ Self.each(UInt8(ascii: "\\"))
            found |= (word &- Self.each(0x20)) & ~word
            found |= (quote &- Self.each(1)) & ~quote
            found |= (backslash &- Self.each(1)) & ~backslash
            index += 8
        }
        if found & Self.each(0x80) != 0 { return false }
        while index < characters.count {
            let character = unsafe characters[index]
            if character < 0x20 || character == UInt8(ascii: "\"") || character == UInt8(ascii: "\\") { return false }
            index += 1
        }
        unsafe bytes.append(contentsOf: characters)
        return true
    }

    /// The byte, eight times.
    @inline(__always)
    private static func each(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

    private mutating func escaped(_ character: UInt8) {
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(character)
        case 0x20...: bytes.append(character)
        case 0x0A: bytes.append(contentsOf: #"\n"#.utf8)
        case 0x0D: bytes.append(contentsOf: #"\r"#.utf8)
        case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
        case 0x08: bytes.append(contentsOf: #"\b"#.utf8)
        case 0x0C: bytes.append(contentsOf: #"\f"#.utf8)
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: #"\u00"#.utf8)
            bytes.append(digits[Int(character >> 4)])
            bytes.append(digits[Int(character & 15)])
        }
    }

    fileprivate mutating func pretty(_ value: JSON, indent: Int) {
        func newLine(_ indent: Int) { bytes.append(contentsOf: ("\n" + String(repeating: "  ", count: indent)).utf8) }
        switch value {
        case .array(let values) where !values.isEmpty:
            beginArray()
            for (position, value) in values.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(indent + 1)
                prettyPart(value, indent: indent + 1)
            }
            newLine(indent)
            endArray()
        case .object(let members) where !members.isEmpty:
            beginObject()
            for (position, member) in members.enumerated() {
                if position > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(indent + 1)
                quoted(member.name)
                bytes.append(contentsOf: ": ".utf8)
                prettyPart(member.value, indent: indent + 1)
            }
            newLine(indent)
            endObject()
        default: self.value(value)
        }
    }

    /// Writes a value after white space, where the rule about commas would see the space and set one.
    private mutating func prettyPart(_ value: JSON, indent: Int) {
        var part = JSONWriter()
        part.pretty(value, indent: indent)
        bytes.append(contentsOf: part.bytes)
    }
}
