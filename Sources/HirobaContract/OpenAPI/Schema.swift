#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HirobaJSON

/// A type that says its own schema, because its `init(from:)` would not show it.
protocol SchemaDescribed {
    static var schema: JSON { get }
}

extension ID: SchemaDescribed {
    static var schema: JSON { ["type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"] }
}

/// An optional whose name is always there.
private protocol Nullable {
    static var wrapped: any Decodable.Type { get }
}

extension Optional: Nullable where Wrapped: Decodable {
    static var wrapped: any Decodable.Type { Wrapped.self }
}

extension ErrorCode: SchemaDescribed {}
extension LiveEventName: SchemaDescribed {}
extension DeviceCondition: SchemaDescribed {}
extension DevicePlatform: SchemaDescribed {}
extension NotifiedBy: SchemaDescribed {}
extension PushDecision: SchemaDescribed {}
extension PushDeliveryState: SchemaDescribed {}
extension PushEnvironment: SchemaDescribed {}
extension PushPermission: SchemaDescribed {}
extension ReportOpened.Event: SchemaDescribed {}

extension OpenText {
    static var schema: JSON {
        [
            "type": "string", "description": "Later servers may send other words than these.",
            "examples": .array(known.map { .string($0.rawValue) }),
        ]
    }
}

/// Learns the schemas of types by letting them decode: what a type asks its decoder for is what it consists of. So
/// there is no second description of the models that could disagree with the first.
///
/// Structures become components, by their names. Texts that are asked for are answered with one that is a valid id.
struct SchemaRecorder {
    private(set) var components = JSONObject()

    /// The schema of a type: a reference for a structure, the schema itself for everything else.
    mutating func schema(of type: any Decodable.Type) throws -> JSON {
        let shape = try shape(of: type)
        guard shape["type"] == "object", shape["properties"] != nil else { return shape }
        let name = Self.componentName(type)
        components[name] = shape
        return ["$ref": .string("#/components/schemas/\(name)")]
    }

    /// The properties of a structure with their schemas, and the names of those that must be there.
    mutating func fields(of type: any Decodable.Type) throws -> (properties: JSONObject, required: [String]) {
        let shape = try shape(of: type)
        return (shape["properties"]?.object ?? [:], shape["required"]?.array?.compactMap(\.string) ?? [])
    }

    private mutating func shape(of type: any Decodable.Type) throws -> JSON {
        switch type {
        case let type as any SchemaDescribed.Type: return type.schema
        case is String.Type: return ["type": "string"]
        case is Bool.Type: return ["type": "boolean"]
        case is Int.Type, is Int64.Type: return ["type": "integer", "format": "int64"]
        case is Double.Type: return ["type": "number"]
        case is Date.Type: return ["type": "string", "format": "date-time"]
        case is JSON.Type: return [:]
        case let type as any Nullable.Type:
            let schema = try schema(of: type.wrapped)
            guard let name = schema["type"]?.string else { return ["anyOf": [schema, ["type": "null"]]] }
            return schema.patched(with: ["type": [.string(name), "null"]])
        default: break
        }
        let recording = Recording()
        _ = try type.init(from: RecordingDecoder(recording: recording))
        if let element = recording.element { return ["type": "array", "items": try schema(of: element)] }
        if let scalar = recording.scalar { return try schema(of: scalar) }
        var properties = JSONObject()
        for field in recording.fields { properties[field.name] = try schema(of: field.type) }
        let required = recording.fields.filter { !recording.optional.contains($0.name) }.map { JSON.string($0.name) }
        var shape: JSON = ["type": "object", "properties": .object(properties)]
        if !required.isEmpty { shape["required"] = .array(required) }
        return shape
    }

    /// `Topic` is `Topic`, `Page<Topic>` is `TopicPage`.
    private static func componentName(_ type: any Decodable.Type) -> String {
        String(describing: type).split { "<>, ".contains($0) }.reversed().joined()
    }
}

/// What a type asked for.
private final class Recording {
    var fields: [(name: String, type: any Decodable.Type)] = []
    var optional: Set<String> = []
    var element: (any Decodable.Type)?
    var scalar: (any Decodable.Type)?

    func field(_ name: String, _ type: any Decodable.Type) {
        if !fields.contains(where: { $0.name == name }) { fields.append((name, type)) }
    }

    /// Any value of the type, so that the asking type can go on.
    static func sample<T: Decodable>(_ type: T.Type) throws -> T {
        switch type {
        case is String.Type: if let value = sampleText as? T { return value }
        case is Date.Type: if let value = Date(milliseconds: 0) as? T { return value }
        case is JSON.Type: if let value = JSON.null as? T { return value }
        default: break
        }
        return try T(from: RecordingDecoder(recording: Recording()))
    }

    static let sampleText = "0000000000000000"
}

private struct RecordingDecoder: Decoder {
    let recording: Recording
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RecordingObject(recording: recording))
    }
    func unkeyedContainer() -> any UnkeyedDecodingContainer { RecordingArray(recording: recording) }
    func singleValueContainer() -> any SingleValueDecodingContainer { RecordingValue(recording: recording) }
}

private struct RecordingObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let recording: Recording
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }

    /// Asked before an optional is decoded, and only then.
    func decodeNil(forKey key: Key) -> Bool {
        recording.optional.insert(key.stringValue)
        return false
    }

    func decode(_ type: Bool.Type, forKey key: Key) -> Bool { record(type, key, false) }
    func decode(_ type: String.Type, forKey key: Key) -> String { record(type, key, Recording.sampleText) }
    func decode(_ type: Double.Type, forKey key: Key) -> Double { record(type, key, 0) }
    func decode(_ type: Float.Type, forKey key: Key) -> Float { record(type, key, 0) }
    func decode(_ type: Int.Type, forKey key: Key) -> Int { record(type, key, 0) }
    func decode(_ type: Int8.Type, forKey key: Key) -> Int8 { record(type, key, 0) }
    func decode(_ type: Int16.Type, forKey key: Key) -> Int16 { record(type, key, 0) }
    func decode(_ type: Int32.Type, forKey key: Key) -> Int32 { record(type, key, 0) }
    func decode(_ type: Int64.Type, forKey key: Key) -> Int64 { record(type, key, 0) }
    func decode(_ type: UInt.Type, forKey key: Key) -> UInt { record(type, key, 0) }
    func decode(_ type: UInt8.Type, forKey key: Key) -> UInt8 { record(type, key, 0) }
    func decode(_ type: UInt16.Type, forKey key: Key) -> UInt16 { record(type, key, 0) }
    func decode(_ type: UInt32.Type, forKey key: Key) -> UInt32 { record(type, key, 0) }
    func decode(_ type: UInt64.Type, forKey key: Key) -> UInt64 { record(type, key, 0) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        record(type, key, try Recording.sample(type))
    }

    private func record<T: Decodable>(_ type: T.Type, _ key: Key, _ sample: T) -> T {
        recording.field(key.stringValue, type)
        return sample
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw Unsupported(name: key.stringValue)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw Unsupported(name: key.stringValue)
    }
    func superDecoder() throws -> any Decoder { throw Unsupported(name: "super") }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw Unsupported(name: key.stringValue) }
}

/// A type of the contract decodes by hand in a way that cannot be recorded. It has to say its schema itself.
private struct Unsupported: Error { var name: String }

private struct RecordingArray: UnkeyedDecodingContainer {
    let recording: Recording
    var currentIndex = 0
    init(recording: Recording) { self.recording = recording }
    var codingPath: [any CodingKey] { [] }
    var count: Int? { 1 }
    var isAtEnd: Bool { currentIndex > 0 }

    mutating func decodeNil() -> Bool { false }
    mutating func decode(_ type: Bool.Type) -> Bool { record(type, false) }
    mutating func decode(_ type: String.Type) -> String { record(type, Recording.sampleText) }
    mutating func decode(_ type: Double.Type) -> Double { record(type, 0) }
    mutating func decode(_ type: Float.Type) -> Float { record(type, 0) }
    mutating func decode(_ type: Int.Type) -> Int { record(type, 0) }
    mutating func decode(_ type: Int8.Type) -> Int8 { record(type, 0) }
    mutating func decode(_ type: Int16.Type) -> Int16 { record(type, 0) }
    mutating func decode(_ type: Int32.Type) -> Int32 { record(type, 0) }
    mutating func decode(_ type: Int64.Type) -> Int64 { record(type, 0) }
    mutating func decode(_ type: UInt.Type) -> UInt { record(type, 0) }
    mutating func decode(_ type: UInt8.Type) -> UInt8 { record(type, 0) }
    mutating func decode(_ type: UInt16.Type) -> UInt16 { record(type, 0) }
    mutating func decode(_ type: UInt32.Type) -> UInt32 { record(type, 0) }
    mutating func decode(_ type: UInt64.Type) -> UInt64 { record(type, 0) }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { record(type, try Recording.sample(type)) }

    private mutating func record<T: Decodable>(_ type: T.Type, _ sample: T) -> T {
        recording.element = type
        currentIndex += 1
        return sample
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw Unsupported(name: "list")
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unsupported(name: "list") }
    mutating func superDecoder() throws -> any Decoder { throw Unsupported(name: "super") }
}

private struct RecordingValue: SingleValueDecodingContainer {
    let recording: Recording
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { false }
    func decode(_ type: Bool.Type) -> Bool { record(type, false) }
    func decode(_ type: String.Type) -> String { record(type, Recording.sampleText) }
    func decode(_ type: Double.Type) -> Double { record(type, 0) }
    func decode(_ type: Float.Type) -> Float { record(type, 0) }
    func decode(_ type: Int.Type) -> Int { record(type, 0) }
    func decode(_ type: Int8.Type) -> Int8 { record(type, 0) }
    func decode(_ type: Int16.Type) -> Int16 { record(type, 0) }
    func decode(_ type: Int32.Type) -> Int32 { record(type, 0) }
    func decode(_ type: Int64.Type) -> Int64 { record(type, 0) }
    func decode(_ type: UInt.Type) -> UInt { record(type, 0) }
    func decode(_ type: UInt8.Type) -> UInt8 { record(type, 0) }
    func decode(_ type: UInt16.Type) -> UInt16 { record(type, 0) }
    func decode(_ type: UInt32.Type) -> UInt32 { record(type, 0) }
    func decode(_ type: UInt64.Type) -> UInt64 { record(type, 0) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { record(type, try Recording.sample(type)) }

    private func record<T: Decodable>(_ type: T.Type, _ sample: T) -> T {
        recording.scalar = type
        return sample
    }
}
