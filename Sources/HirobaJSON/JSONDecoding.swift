#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What holds for a whole decoding.
final class DecodingRules: Sendable {
    let refusesUnknownFields: Bool
    let dates: JSONDates

    init(refusesUnknownFields: Bool, dates: JSONDates) {
        self.refusesUnknownFields = refusesUnknownFields
        self.dates = dates
    }
}

/// The decoder a value sees. Where it stands is not tracked on the way in: each level adds its own step to an error
/// on the way out, so that a document without errors pays nothing for their paths.
struct ValueDecoder: Decoder {
    let source: DecodingSource
    let rules: DecodingRules
    /// Steps from the value whose `init(from:)` runs, for containers that a type opens by hand.
    let path: [JSONCodingError.Step]

    init(_ source: DecodingSource, _ rules: DecodingRules, path: [JSONCodingError.Step]) {
        self.source = source
        self.rules = rules
        self.path = path
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let container: ObjectDecoding<Key>
        switch source {
        case .json(.object(let members)):
            container = ObjectDecoding(source: .object(members), rules: rules, path: path)
        case .fields(let fields):
            container = ObjectDecoding(source: .fields(fields), rules: rules, path: path)
        case .texts(let texts):
            // An object in a query is written as JSON.
            guard texts.count == 1, case .object(let members)? = try? JSON.parse(texts[0]) else {
                throw mismatch("an object")
            }
            container = ObjectDecoding(source: .object(members), rules: rules, path: path)
        default: throw mismatch("an object")
        }
        if rules.refusesUnknownFields { try container.refuseUnknownFields() }
        return KeyedDecodingContainer(container)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch source {
        case .json(.array(let values)): return ArrayDecoding(source: .values(values), rules: rules, path: path)
        case .texts(let texts): return ArrayDecoding(source: .texts(texts), rules: rules, path: path)
        default: throw mismatch("a list")
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func mismatch(_ expected: String) -> JSONCodingError {
        JSONCodingError(.mismatch(expected: expected, found: source.kind), path: path)
    }

    /// Decodes a value; an error begins at this value.
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if type == String.self {
            // Unsafe for speed only: a cast of a generic value costs as much as all the rest, and the comparison has
            // shown that the types are the same.
            return unsafe unsafeBitCast(try decode(String.self), to: type)
        }
        if type == Date.self {
            guard let date = rules.dates.decode(source.scalar), let result = date as? T else {
                throw mismatch(rules.dates.expectation)
            }
            return result
        }
        if type == JSON.self, let value = source.json as? T { return value }
        if type == URL.self {
            guard let text = source.scalar.string, let url = URL(string: text), let result = url as? T else {
                throw mismatch("an address")
            }
            return result
        }
        // A type without fields asks for no container, which is where unknown fields are found otherwise.
        if rules.refusesUnknownFields, MemoryLayout<T>.size == 0, let name = source.firstName {
            throw JSONCodingError(.unknownField, path: path + [.name(name)])
        }
        do {
            return try T(from: path.isEmpty ? self : ValueDecoder(source, rules, path: []))
        } catch {
            let error = JSONCodingError(error)
            throw path.isEmpty ? error : JSONCodingError(error.problem, path: path + error.path)
        }
    }
}

extension DecodingSource {
    /// What this is, in a word for error messages.
    var kind: String {
        switch self {
        case .json(let value): value.kind
        case .texts(let texts): texts.count == 1 ? "a text" : "\(texts.count) values"
        case .fields: "an object"
        }
    }

    /// The value, where one text stands for itself.
    var scalar: JSON {
        switch self {
        case .json(let value): value
        case .texts(let texts) where texts.count == 1: .string(texts[0])
        default: .array([])
        }
    }

    /// The value as JSON; a text that is JSON is read as such, any other stands for itself.
    var json: JSON {
        switch self {
        case .json(let value): value
        case .texts(let texts) where texts.count == 1: (try? JSON.parse(texts[0])) ?? .string(texts[0])
        case .texts(let texts): .array(texts.map(JSON.string))
        case .fields(let fields): .object(JSONObject(fields.map { ($0.name, $0.source.json) }))
        }
    }

    /// The name of the first member, if this is an object that has one.
    var firstName: String? {
        switch self {
        case .json(.object(let members)): members.first?.name
        case .fields(let fields): fields.first?.name
        default: nil
        }
    }

    var isNull: Bool {
        if case .json(.null) = self { true } else { false }
    }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { source.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        switch source {
        case .json(.bool(let value)): return value
        case .texts(["true"]): return true
        case .texts(["false"]): return false
        default: throw mismatch("true or false")
        }
    }

    func decode(_ type: String.Type) throws -> String {
        switch source {
        case .json(.string(let value)): return value
        case .texts(let texts) where texts.count == 1: return texts[0]
        default: throw mismatch("a text")
        }
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard let value = number.double else { throw mismatch("a number") }
        return value
    }

    func decode(_ type: Float.Type) throws -> Float {
        guard let value = number.double else { throw mismatch("a number") }
        return Float(value)
    }

    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

    /// The number, also from a text of a path or query.
    private var number: JSON {
        switch source {
        case .json(let value): return value
        case .texts(let texts) where texts.count == 1:
            if case .string(let text) = source.scalar, let number = JSONNumber(text: text) { return .number(number) }
            return .null
        default: return .null
        }
    }

    private func integer<T: FixedWidthInteger>() throws -> T {
        switch number {
        case .integer(let value):
            if let value = T(exactly: value) { return value }
        case .number(let value):
            if let value = T(value.text) ?? value.integer.flatMap({ T(exactly: $0) }) { return value }
        default: throw mismatch("a whole number")
        }
        throw mismatch("a whole number from \(T.min) to \(T.max)")
    }
}

private struct ObjectDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    enum Source {
        case object(JSONObject)
        case fields([(name: String, source: DecodingSource)])
    }

    let source: Source
    let rules: DecodingRules
    let path: [JSONCodingError.Step]

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { names.compactMap { Key(stringValue: $0) } }

    private var names: [String] {
        switch source {
        case .object(let members): members.names
        case .fields(let fields): fields.map(\.name)
        }
    }

    /// A type knows a field when its coding keys do. Keys that accept any name, as those of a dictionary, know all.
    func refuseUnknownFields() throws {
        if Key.self is SuperKey.Type { return }
        for name in names where Key(stringValue: name) == nil {
            throw JSONCodingError(.unknownField, path: path + [.name(name)])
        }
    }

    private func find(_ key: some CodingKey) -> DecodingSource? {
        let name = key.stringValue
        switch source {
        case .object(let members): return members[name].map(DecodingSource.json)
        case .fields(let fields): return fields.first { $0.name == name }?.source
        }
    }

    private func decoder(_ key: some CodingKey) throws -> ValueDecoder {
        guard let value = find(key) else { throw JSONCodingError(.missing, path: path + [.name(key.stringValue)]) }
        return ValueDecoder(value, rules, path: [])
    }

    private func inside<T>(_ key: Key, _ read: (ValueDecoder) throws -> T) throws -> T {
        let decoder = try decoder(key)
        do {
            return try read(decoder)
        } catch {
            let error = JSONCodingError(error)
            throw JSONCodingError(error.problem, path: path + [.name(key.stringValue)] + error.path)
        }
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { find(key)?.isNull ?? true }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try inside(key) { try $0.decode(type) } }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try inside(key) { try $0.decode(type) } }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try inside(key) { try $0.decode(type) } }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try inside(key) { try $0.decode(type) } }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try inside(key) { try $0.decode(type) } }

    /// Where a container opened by hand stands, since no `init(from:)` of its own adds the step on the way out.
    private func nested(_ key: some CodingKey) throws -> ValueDecoder {
        ValueDecoder(try decoder(key).source, rules, path: path + [.name(key.stringValue)])
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try nested(SuperKey()) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }
}

private struct ArrayDecoding: UnkeyedDecodingContainer {
    enum Source {
        case values([JSON])
        case texts([String])
    }

    let source: Source
    let rules: DecodingRules
    let path: [JSONCodingError.Step]
    var currentIndex = 0

    init(source: Source, rules: DecodingRules, path: [JSONCodingError.Step]) {
        self.source = source
        self.rules = rules
        self.path = path
    }

    var codingPath: [any CodingKey] { [] }
    var isAtEnd: Bool { currentIndex >= (count ?? 0) }

    var count: Int? {
        switch source {
        case .values(let values): values.count
        case .texts(let texts): texts.count
        }
    }

    private func current() throws -> DecodingSource {
        guard !isAtEnd else { throw JSONCodingError(.missing, path: path + [.position(currentIndex)]) }
        return switch source {
        case .values(let values): .json(values[currentIndex])
        case .texts(let texts): .texts([texts[currentIndex]])
        }
    }

    private mutating func next<T>(_ read: (ValueDecoder) throws -> T) throws -> T {
        let decoder = ValueDecoder(try current(), rules, path: [])
        do {
            let value = try read(decoder)
            currentIndex += 1
            return value
        } catch {
            let error = JSONCodingError(error)
            throw JSONCodingError(error.problem, path: path + [.position(currentIndex)] + error.path)
        }
    }

    mutating func decodeNil() throws -> Bool {
        guard try current().isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try next { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try next { try $0.decode(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next { try $0.decode(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next { try $0.decode(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next { try $0.decode(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next { try $0.decode(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next { try $0.decode(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next { try $0.decode(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next { try $0.decode(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next { try $0.decode(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next { try $0.decode(type) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type) } }

    private mutating func nested() throws -> ValueDecoder {
        let decoder = ValueDecoder(try current(), rules, path: path + [.position(currentIndex)])
        currentIndex += 1
        return decoder
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try nested().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try nested() }
}
