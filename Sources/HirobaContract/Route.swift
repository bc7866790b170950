/// Where a call goes: a method, and a path below `/v1` whose `{names}` are fields of the call.
///
/// One rule places every field of a call: a field named in the path goes there; of the rest, those of GET and DELETE
/// go to the query, all others to a JSON body.
public struct Route: Hashable, Sendable {
    /// What every path begins with.
    public static let prefix = "/v1"

    /// An HTTP method.
    public enum Method: String, Hashable, Sendable, CaseIterable {
        /// Reads.
        case get = "GET"
        /// Creates, or does something that is no plain change of one thing.
        case post = "POST"
        /// Puts in place, whatever was there.
        case put = "PUT"
        /// Changes some fields.
        case patch = "PATCH"
        /// Removes.
        case delete = "DELETE"
    }

    /// A part of the path between slashes.
    enum Segment: Hashable, Sendable {
        case text(String)
        case field(String)
    }

    /// The method.
    public let method: Method
    /// The path below the prefix, with the names of fields in braces.
    public let template: String
    let segments: [Segment]

    /// A route. The template begins with a slash; a segment is either plain text or one name in braces.
    public init(_ method: Method, _ template: String) {
        self.method = method
        self.template = template
        segments = template.split(separator: "/").map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}")
                ? .field(String(segment.dropFirst().dropLast())) : .text(String(segment))
        }
    }

    /// The fields that go to the path, in order.
    public var pathFields: [String] {
        segments.compactMap { if case .field(let name) = $0 { name } else { nil } }
    }

    /// Whether fields outside the path go to the query and not to a body.
    public var usesQuery: Bool { method == .get || method == .delete }

    /// The template with its prefix, as routers take it.
    public var fullTemplate: String { Self.prefix + template }
}
