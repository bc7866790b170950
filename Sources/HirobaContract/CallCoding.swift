package import HirobaJSON

/// A call as a request.
public struct EncodedCall: Hashable, Sendable {
    /// The method.
    public var method: Route.Method
    /// The path with its prefix, escaped.
    public var path: String
    /// The query without its question mark, escaped; nil when there is none.
    public var query: String?
    /// The JSON body; nil when there is none.
    public var body: [UInt8]?

    /// Path and query together.
    public var target: String { path + (query.map { "?\($0)" } ?? "") }
}

/// Why a call cannot be sent: a field of the path is empty, or a value that JSON cannot say.
public struct CallEncodingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public var description: String
}

/// Why a request is none of this call: always the sender's mistake.
public struct InvalidCall: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// The body is not JSON.
        case malformedBody(String)
        /// The query holds a broken escape.
        case malformedQuery
        /// The body is JSON, but no object.
        case notAnObject
        /// A body came where none is wanted.
        case unexpectedBody
        /// A field that the call does not have.
        case unknownField
        /// A field that must be there is not.
        case missingField
        /// A field of another type.
        case wrongType(expected: String, found: String)
        /// A field of the right type with an impossible value.
        case invalidValue(String)
    }

    /// What is wrong.
    public var reason: Reason
    /// The field at fault.
    public var field: String?

    /// A reason and a field.
    public init(_ reason: Reason, field: String? = nil) {
        self.reason = reason
        self.field = field
    }

    init(_ error: JSONCodingError) {
        field = error.field
        reason =
            switch error.problem {
            case .syntax(let error): .malformedBody(error.description)
            case .missing: .missingField
            case .unknownField: .unknownField
            case .mismatch(let expected, let found): .wrongType(expected: expected, found: found)
            case .invalid(let reason): .invalidValue(reason)
            }
    }

    /// `invalid_field` when a field is named, else `invalid_request`.
    public var code: ErrorCode { field == nil ? .invalidRequest : .invalidField }

    /// One sentence in English.
    public var detail: String {
        let name = field.map { "The field \"\($0)\"" } ?? "The request"
        return switch reason {
        case .malformedBody(let error): "The body is not JSON: \(error)."
        case .malformedQuery: "The query holds a broken escape."
        case .notAnObject: "The body must be a JSON object."
        case .unexpectedBody: "This call takes no body."
        case .unknownField: "\(name) is not known here."
        case .missingField: "\(name) is missing."
        case .wrongType(let expected, let found): "\(name) must be \(expected), not \(found)."
        case .invalidValue(let reason): "\(name) is not right: \(reason)."
        }
    }
}

/// Turns calls into requests and back, by the one rule of `Route`.
///
/// In a path or a query a text stands as it is, a number and a truth value as in JSON, a date as everywhere in the API,
/// a list as its name repeated, an object as JSON. What is nil is absent.
public enum CallCoding {
    /// The call as a request.
    public static func encode(_ call: some CallDescription) throws(CallEncodingError) -> EncodedCall {
        try encode(call, as: type(of: call).route)
    }

    private static func encode(_ call: some CallDescription, as route: Route) throws(CallEncodingError) -> EncodedCall {
        let bytes: [UInt8]
        var fields: JSONObject
        do {
            bytes = try JSONCoding.encode(call)
            fields = try JSON.parse(bytes).object ?? JSONObject()
        } catch {
            throw CallEncodingError(description: String(describing: error))
        }
        var path = Route.prefix
        for segment in route.segments {
            switch segment {
            case .text(let text): path += "/\(text)"
            case .field(let name):
                let text = fields.removeValue(named: name).flatMap { QueryText.texts($0).first } ?? ""
                // Clients and proxies resolve "." and ".." as steps in the tree, even when escaped.
                guard !text.isEmpty, text != ".", text != ".." else {
                    throw CallEncodingError(description: "the field \"\(name)\" of the path is \"\(text)\"")
                }
                path += "/\(URIText.escaped(text))"
            }
        }
        if route.usesQuery || call is any UploadCall {
            let query = QueryText.query(fields, lists: .repeated)
            return EncodedCall(method: route.method, path: path, query: query, body: nil)
        }
        let isWhole = route.pathFields.isEmpty
        return EncodedCall(
            method: route.method, path: path, query: nil, body: isWhole ? bytes : JSON.object(fields).bytes())
    }

    /// A call from the parts of a request, strictly: what the call does not know is refused, and so is a field that
    /// came by another way than the rule says.
    ///
    /// - Parameters:
    ///   - pathParameters: the values of the names in the route's template, unescaped.
    ///   - query: the query as it came, without its question mark.
    ///   - body: the body of a call that is no upload. An absent one counts as an empty object.
    public static func decode<C: CallDescription>(
        _ type: C.Type, pathParameters: [String: String], query: String?, body: [UInt8]
    ) throws(InvalidCall) -> C {
        try decode(type, path: { pathParameters[$0] }, query: query, body: body)
    }

    /// The same, from whatever knows the parameters of the path by their names.
    package static func decode<C: CallDescription>(
        _ type: C.Type, path: (String) -> String?, query: String?, body: [UInt8]
    ) throws(InvalidCall) -> C {
        if let quick = type as? any QuickCall.Type, body.isEmpty, let query = PlainQuery(query),
            let call = quick.init(path: path, query: query) as? C
        {
            return call
        }
        return try decodeSlowly(type, path: path, query: query, body: body)
    }

    static func decodeSlowly<C: CallDescription>(
        _ type: C.Type, path: (String) -> String?, query: String?, body: [UInt8]
    ) throws(InvalidCall) -> C {
        let route = type.route
        let takesQuery = route.usesQuery || type is any UploadCall.Type
        var fields: [(name: String, source: DecodingSource)] = []
        var positions: [String: Int] = [:]
        guard let items = URIText.queryItems(query ?? "") else { throw InvalidCall(.malformedQuery) }
        for item in items {
            guard takesQuery, !route.pathFields.contains(item.name) else {
                throw InvalidCall(.unknownField, field: item.name)
            }
            if let position = positions[item.name], case .texts(let texts) = fields[position].source {
                fields[position].source = .texts(texts + [item.value])
            } else {
                positions[item.name] = fields.count
                fields.append((item.name, .texts([item.value])))
            }
        }
        if !takesQuery {
            for member in try bodyFields(body) {
                guard !route.pathFields.contains(member.name) else {
                    throw InvalidCall(.unknownField, field: member.name)
                }
                fields.append((member.name, .json(member.value)))
            }
        } else if !body.isEmpty {
            throw InvalidCall(.unexpectedBody)
        }
        for name in route.pathFields {
            if let value = path(name) { fields.append((name, .texts([value]))) }
        }
        do {
            return try JSONCoding.decode(type, from: .fields(fields), unknownFields: .refuse)
        } catch {
            throw InvalidCall(error)
        }
    }

    private static func bodyFields(_ body: [UInt8]) throws(InvalidCall) -> JSONObject {
        if body.isEmpty { return JSONObject() }
        let document: JSON
        do {
            document = try JSON.parse(body, limits: JSONLimits(depth: 32, repeatedNames: .refuse))
        } catch {
            throw InvalidCall(.malformedBody(error.description))
        }
        guard case .object(let members) = document else { throw InvalidCall(.notAnObject) }
        return members
    }
}

/// How values stand in a path or a query.
package enum QueryText {
    /// How a list is written.
    package enum Lists: Sendable {
        /// `name=1&name=2`.
        case repeated
        /// `name=1,2`.
        case commaSeparated
    }

    /// The texts of a value: none for null, several for a list.
    package static func texts(_ value: JSON) -> [String] {
        switch value {
        case .null: []
        case .string(let text): [text]
        case .array(let values): values.flatMap(texts)
        default: [value.description]
        }
    }

    /// The fields as a query without its question mark; nil when there is nothing to say.
    package static func query(_ fields: some Sequence<JSONObject.Member>, lists: Lists) -> String? {
        var parts: [String] = []
        for field in fields {
            let name = URIText.escaped(field.name)
            let texts = texts(field.value).map(URIText.escaped)
            switch lists {
            case .repeated: parts += texts.map { "\(name)=\($0)" }
            case .commaSeparated: if !texts.isEmpty { parts.append("\(name)=\(texts.joined(separator: ","))") }
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }
}
