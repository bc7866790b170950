#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The document being written, shared by all containers of one encoding.
///
/// Bytes are written as the values come, so containers must be filled one after the other, as synthesised code and all
/// ordinary code does. Going back to a container after a later one was opened beside it is refused with an error.
final class EncoderOutput {
    var writer: JSONWriter
    let dates: JSONDates
    private var open: [Level] = []
    private var opened = 0

    private struct Level {
        var isObject: Bool
        var number: Int
    }

    /// A container that was opened: how deep it lies, and its number, by which a stale one is known.
    struct Place {
        fileprivate var depth: Int
        fileprivate var number: Int
    }

    init(_ bytes: [UInt8], dates: JSONDates) {
        writer = JSONWriter(bytes)
        self.dates = dates
    }

    var depth: Int { open.count }

    func begin(object isObject: Bool) -> Place {
        if isObject { writer.beginObject() } else { writer.beginArray() }
        opened += 1
        open.append(Level(isObject: isObject, number: opened))
        return Place(depth: open.count, number: opened)
    }

    /// The container of that kind which a value at this depth has opened already, or a new one.
    func container(object isObject: Bool, at depth: Int) -> Place {
        if open.count > depth, open[depth].isObject == isObject {
            return Place(depth: depth + 1, number: open[depth].number)
        }
        return begin(object: isObject)
    }

    /// Closes everything that was opened inside.
    func close(to depth: Int) {
        while open.count > depth {
            if open.removeLast().isObject { writer.endObject() } else { writer.endArray() }
        }
    }

    /// Gets ready to write into a container.
    @inline(__always)
    func turn(to place: Place) throws {
        if open.count > place.depth { close(to: place.depth) }
        guard open.count == place.depth, open[place.depth - 1].number == place.number else {
            throw JSONCodingError(.invalid("a container was written to after it was closed"))
        }
    }

    func write<T: Encodable>(_ value: T) throws {
        if T.self == String.self {
            // Unsafe for speed only, here and below: a cast of a generic value costs more than writing it, and the
            // comparison has shown that the types are the same.
            writer.string(unsafe unsafeBitCast(value, to: String.self))
            return
        }
        if T.self == Date.self {
            try write(unsafe unsafeBitCast(value, to: Date.self))
            return
        }
        if T.self == JSON.self, let value = value as? JSON {
            writer.value(value)
            return
        }
        if T.self == URL.self, let value = value as? URL {
            writer.string(value.absoluteString)
            return
        }
        let depth = open.count
        let length = writer.bytes.count
        try value.encode(to: ValueEncoder(output: self, depth: depth))
        close(to: depth)
        if writer.bytes.count == length {  // A type without fields asks for no container.
            writer.beginObject()
            writer.endObject()
        }
    }

    private func write(_ date: Date) throws {
        if dates.isRFC3339, let milliseconds = date.milliseconds, Timestamp.range.contains(milliseconds) {
            writer.timestamp(milliseconds)
        } else if !dates.isRFC3339, let value = dates.encode(date) {
            writer.value(value)
        } else {
            throw JSONCodingError(.invalid("a date that cannot be written"))
        }
    }

    func write(_ value: Double) throws {
        guard let number = JSONNumber(value) else { throw JSONCodingError(.invalid("JSON has no \(value)")) }
        writer.number(number)
    }
}

/// The encoder a value sees.
struct ValueEncoder: Encoder {
    let output: EncoderOutput
    let depth: Int

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(ObjectEncoding(output: output, place: output.container(object: true, at: depth)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        ArrayEncoding(output: output, place: output.container(object: false, at: depth))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { output.writer.null() }
    func encode(_ value: Bool) { output.writer.bool(value) }
    func encode(_ value: String) { output.writer.string(value) }
    func encode(_ value: Double) throws { try output.write(value) }
    func encode(_ value: Float) throws { try output.writeFloat(value) }
    func encode(_ value: Int) { output.writer.integer(value) }
    func encode(_ value: Int8) { output.writer.integer(Int64(value)) }
    func encode(_ value: Int16) { output.writer.integer(Int64(value)) }
    func encode(_ value: Int32) { output.writer.integer(Int64(value)) }
    func encode(_ value: Int64) { output.writer.integer(value) }
    func encode(_ value: UInt) { output.writer.integer(UInt64(value)) }
    func encode(_ value: UInt8) { output.writer.integer(UInt64(value)) }
    func encode(_ value: UInt16) { output.writer.integer(UInt64(value)) }
    func encode(_ value: UInt32) { output.writer.integer(UInt64(value)) }
    func encode(_ value: UInt64) { output.writer.integer(UInt64(value)) }
    func encode<T: Encodable>(_ value: T) throws { try output.write(value) }
}

extension EncoderOutput {
    /// The shortest digits of a `Float`, which are fewer than those of the same value as a `Double`.
    func writeFloat(_ value: Float) throws {
        guard let number = JSONNumber(text: value.description) else {
            throw JSONCodingError(.invalid("JSON has no \(value)"))
        }
        writer.number(number)
    }
}

private struct ObjectEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let output: EncoderOutput
    let place: EncoderOutput.Place

    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    private func name(_ key: some CodingKey) throws {
        try output.turn(to: place)
        output.writer.name(key.stringValue)
    }

    private func inside(_ key: some CodingKey, _ write: () throws -> Void) throws {
        try name(key)
        do {
            try write()
        } catch {
            throw JSONCodingError(error).inside(.name(key.stringValue))
        }
    }

    func encodeNil(forKey key: Key) throws {
        try name(key)
        output.writer.null()
    }
    func encode(_ value: Bool, forKey key: Key) throws {
        try name(key)
        output.writer.bool(value)
    }
    func encode(_ value: String, forKey key: Key) throws {
        try name(key)
        output.writer.string(value)
    }
    func encode(_ value: Double, forKey key: Key) throws { try inside(key) { try output.write(value) } }
    func encode(_ value: Float, forKey key: Key) throws { try inside(key) { try output.writeFloat(value) } }
    func encode(_ value: Int, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int8, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int16, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int32, forKey key: Key) throws { try integer(Int64(value), key) }
    func encode(_ value: Int64, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try unsigned(UInt64(value), key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try unsigned(UInt64(value), key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try unsigned(UInt64(value), key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try unsigned(UInt64(value), key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try unsigned(UInt64(value), key) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try inside(key) { try output.write(value) } }

    private func integer(_ value: Int64, _ key: Key) throws {
        try name(key)
        output.writer.integer(value)
    }

    private func unsigned(_ value: UInt64, _ key: Key) throws {
        try name(key)
        output.writer.integer(value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nest(key)
        return KeyedEncodingContainer(ObjectEncoding<NestedKey>(output: output, place: output.begin(object: true)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        nest(key)
        return ArrayEncoding(output: output, place: output.begin(object: false))
    }

    func superEncoder() -> any Encoder {
        nest(SuperKey())
        return ValueEncoder(output: output, depth: output.depth)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        nest(key)
        return ValueEncoder(output: output, depth: output.depth)
    }

    /// These three cannot throw; a stale container is a promise that the type's own `encode(to:)` broke.
    private func nest(_ key: some CodingKey) {
        do { try name(key) } catch { preconditionFailure("\(error)") }
    }
}

/// The name that Swift's coders give to what a class's superclass encodes.
struct SuperKey: CodingKey {
    var stringValue: String { "super" }
    var intValue: Int? { nil }
    init() {}
    init?(stringValue: String) { if stringValue != "super" { return nil } }
    init?(intValue: Int) { nil }
}

private struct ArrayEncoding: UnkeyedEncodingContainer {
    let output: EncoderOutput
    let place: EncoderOutput.Place
    var count = 0

    init(output: EncoderOutput, place: EncoderOutput.Place) {
        self.output = output
        self.place = place
    }

    var codingPath: [any CodingKey] { [] }

    private mutating func inside(_ write: (EncoderOutput) throws -> Void) throws {
        try output.turn(to: place)
        do {
            try write(output)
        } catch {
            throw JSONCodingError(error).inside(.position(count))
        }
        count += 1
    }

    mutating func encodeNil() throws { try inside { $0.writer.null() } }
    mutating func encode(_ value: Bool) throws { try inside { $0.writer.bool(value) } }
    mutating func encode(_ value: String) throws { try inside { $0.writer.string(value) } }
    mutating func encode(_ value: Double) throws { try inside { try $0.write(value) } }
    mutating func encode(_ value: Float) throws { try inside { try $0.writeFloat(value) } }
    mutating func encode(_ value: Int) throws { try inside { $0.writer.integer(value) } }
    mutating func encode(_ value: Int8) throws { try inside { $0.writer.integer(Int64(value)) } }
    mutating func encode(_ value: Int16) throws { try inside { $0.writer.integer(Int64(value)) } }
    mutating func encode(_ value: Int32) throws { try inside { $0.writer.integer(Int64(value)) } }
    mutating func encode(_ value: Int64) throws { try inside { $0.writer.integer(value) } }
    mutating func encode(_ value: UInt) throws { try inside { $0.writer.integer(UInt64(value)) } }
    mutating func encode(_ value: UInt8) throws { try inside { $0.writer.integer(UInt64(value)) } }
    mutating func encode(_ value: UInt16) throws { try inside { $0.writer.integer(UInt64(value)) } }
    mutating func encode(_ value: UInt32) throws { try inside { $0.writer.integer(UInt64(value)) } }
    mutating func encode(_ value: UInt64) throws { try inside { $0.writer.integer(UInt64(value)) } }
    mutating func encode<T: Encodable>(_ value: T) throws { try inside { try $0.write(value) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        nest()
        return KeyedEncodingContainer(ObjectEncoding<NestedKey>(output: output, place: output.begin(object: true)))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        nest()
        return ArrayEncoding(output: output, place: output.begin(object: false))
    }

    mutating func superEncoder() -> any Encoder {
        nest()
        return ValueEncoder(output: output, depth: output.depth)
    }

    /// As `nest` of a keyed container.
    private mutating func nest() {
        do { try output.turn(to: place) } catch { preconditionFailure("\(error)") }
        count += 1
    }
}
