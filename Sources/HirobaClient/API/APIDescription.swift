#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import HirobaJSON

/// An HTTP API: what is true of all its calls.
///
/// ```swift
/// struct Weather: APIDescription {
///     var baseURL: URL
///     var key: String
///
///     func authorize(_ request: inout APIRequest) { request.addQuery("key", key) }
/// }
/// ```
public protocol APIDescription: Sendable {
    /// The address that the paths of all calls continue.
    var baseURL: URL { get }
    /// How the API writes dates. RFC 3339 unless said otherwise.
    var dates: JSONDates { get }
    /// How the API wants lists in a query. Repeated names unless said otherwise.
    var lists: QueryLists { get }

    /// Adds what proves who is calling: a header, or values of the query. Nothing unless said otherwise.
    ///
    /// Runs once for each attempt, so that a time stamp in a signature is fresh.
    func authorize(_ request: inout APIRequest) async throws(ClientError)

    /// What an answer with an error status says. The body can be anything. Unless said otherwise problem documents (RFC
    /// 9457) are read, and in other JSON objects the usual names for a sentence and a code.
    func failure(status: Int, headers: HeaderFields, body: [UInt8]) -> APIFailure
}

/// How a list stands in a query.
public enum QueryLists: Sendable {
    /// `name=1&name=2`.
    case repeated
    /// `name=1,2`.
    case commaSeparated
}

extension APIDescription {
    /// RFC 3339.
    public var dates: JSONDates { .rfc3339 }
    /// Repeated names.
    public var lists: QueryLists { .repeated }
    /// Nothing.
    public func authorize(_ request: inout APIRequest) async throws(ClientError) {}
    /// A problem document, or the usual names.
    public func failure(status: Int, headers: HeaderFields, body: [UInt8]) -> APIFailure {
        APIFailure(status: status, headers: headers, body: body)
    }
}
