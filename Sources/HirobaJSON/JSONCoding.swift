/// Turns `Codable` values into JSON and back, without Foundation's coders: about ten times as fast, `true` stays
/// `true`, and an error names the field.
public enum JSONCoding {
    /// What to do with a member that the type does not know.
    public enum UnknownFields: Sendable {
        /// Refuse the document and name the field: right for a server, where it is most likely a typing error.
        case refuse
        /// Go on: right for a client, whose server may be younger than itself.
        case ignore
    }

    /// The value as compact JSON. Members come in the order in which the type encodes them; absent optionals are left
    /// out.
    public static func encode(
        _ value: some Encodable, dates: JSONDates = .rfc3339
    ) throws(JSONCodingError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)
        try append(value, to: &bytes, dates: dates)
        return bytes
    }

    /// Appends the value as compact JSON.
    public static func append(
        _ value: some Encodable, to bytes: inout [UInt8], dates: JSONDates = .rfc3339
    ) throws(JSONCodingError) {
        if dates.isRFC3339, let value = value as? any JSONWritable {
            var writer = JSONWriter(bytes)
            bytes = []  // The writer owns the memory now; a second reference would copy it.
            value.write(to: &writer)
            bytes = writer.bytes
            return
        }
        let output = EncoderOutput(bytes, dates: dates)
        bytes = []  // The output owns the memory now; a second reference would copy it.
        do {
            try output.write(value)
        } catch {
            throw JSONCodingError(error)
        }
        bytes = output.writer.bytes
    }

    /// A value from a document. With unknown fields refused, names that occur twice in an object are refused too.
    public static func decode<T: Decodable>(
        _ type: T.Type = T.self, from bytes: [UInt8], unknownFields: UnknownFields = .ignore,
        dates: JSONDates = .rfc3339, limits: JSONLimits = JSONLimits()
    ) throws(JSONCodingError) -> T {
        let document: JSON
        do {
            var limits = limits
            if case .refuse = unknownFields { limits.repeatedNames = .refuse }
            document = try JSON.parse(bytes, limits: limits)
        } catch {
            throw JSONCodingError(.syntax(error))
        }
        return try decode(type, from: document, unknownFields: unknownFields, dates: dates)
    }

    /// A value from JSON that was read already.
    public static func decode<T: Decodable>(
        _ type: T.Type = T.self, from json: JSON, unknownFields: UnknownFields = .ignore, dates: JSONDates = .rfc3339
    ) throws(JSONCodingError) -> T {
        try decode(type, from: .json(json), unknownFields: unknownFields, dates: dates)
    }

    package static func decode<T: Decodable>(
        _ type: T.Type, from source: DecodingSource, unknownFields: UnknownFields = .ignore,
        dates: JSONDates = .rfc3339
    ) throws(JSONCodingError) -> T {
        let rules = DecodingRules(refusesUnknownFields: unknownFields == .refuse, dates: dates)
        do {
            return try ValueDecoder(source, rules, path: []).decode(type)
        } catch {
            throw JSONCodingError(error)
        }
    }
}

/// What a value is decoded from: a document, or the parts of a request.
package enum DecodingSource: Sendable {
    /// A JSON value.
    case json(JSON)
    /// Values of a name in a path or a query: texts that become numbers and truth values where the type wants them.
    case texts([String])
    /// Fields that come from several places.
    case fields([(name: String, source: DecodingSource)])
}

/// Why a value could not be encoded or decoded, and at which field.
public struct JSONCodingError: Error, Sendable, Hashable {
    /// A step from a value to one inside it.
    public enum Step: Sendable, Hashable {
        /// A member of an object.
        case name(String)
        /// An element of a list, from 0.
        case position(Int)
    }

    /// What was wrong.
    public enum Problem: Sendable, Hashable {
        /// The bytes are no JSON document.
        case syntax(JSONError)
        /// A member that must be there is not.
        case missing
        /// A member that the type does not know.
        case unknownField
        /// A value of another type.
        case mismatch(expected: String, found: String)
        /// A value of the right type that the type refuses, in its own words.
        case invalid(String)
    }

    /// The way from the whole value to the field at fault.
    public var path: [Step]
    /// What was wrong.
    public var problem: Problem

    init(_ problem: Problem, path: [Step] = []) {
        self.problem = problem
        self.path = path
    }

    /// Whatever an encoder or a decoder of a type threw.
    init(_ error: any Error) {
        switch error {
        case let error as JSONCodingError: self = error
        case let error as DecodingError: self.init(error)
        case EncodingError.invalidValue(_, let context):
            self.init(.invalid(context.debugDescription), path: context.codingPath.map(Step.init))
        default: self.init(.invalid(String(describing: error)))
        }
    }

    private init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.missing, path: context.codingPath.map(Step.init) + [Step(key)])
        case .dataCorrupted(let context):
            self.init(.invalid(context.debugDescription), path: context.codingPath.map(Step.init))
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            self.init(.invalid(context.debugDescription), path: context.codingPath.map(Step.init))
        @unknown default: self.init(.invalid(String(describing: error)))
        }
    }

    /// The same error seen from one level further out.
    func inside(_ step: Step) -> JSONCodingError {
        var error = self
        error.path.insert(step, at: 0)
        return error
    }

    /// The field at fault, such as `items[2].title`; nil when it is the whole value.
    public var field: String? {
        var text = ""
        for step in path {
            switch step {
            case .name(let name): text += text.isEmpty ? name : ".\(name)"
            case .position(let position): text += "[\(position)]"
            }
        }
        return text.isEmpty ? nil : text
    }
}

extension JSONCodingError.Step {
    init(_ key: any CodingKey) {
        if let position = key.intValue { self = .position(position) } else { self = .name(key.stringValue) }
    }
}

extension JSONCodingError: CustomStringConvertible {
    /// One sentence that begins with the field.
    public var description: String {
        let what =
            switch problem {
            case .syntax(let error): error.description
            case .missing: "is missing"
            case .unknownField: "is not known here"
            case .mismatch(let expected, let found): "expected \(expected), found \(found)"
            case .invalid(let reason): reason
            }
        return field.map { "\($0): \(what)" } ?? what
    }
}
