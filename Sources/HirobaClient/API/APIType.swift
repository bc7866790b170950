#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import HirobaContract
import HirobaJSON

/// The HTTP methods a call can have.
public typealias APIMethod = Route.Method

/// A call that is described, not programmed: it gives its address and its parameters.
///
/// Either the calls of one resource are the cases of an enum, and the answer is named where the call is made:
///
/// ```swift
/// enum Forecast: APIType {
///     typealias API = Weather
///     case daily(DailyRequest)
///     case hourly(city: Int, HourlyRequest)
///
///     var path: String {
///         switch self {
///         case .daily: "daily"
///         case .hourly(let city, _): "cities/\(city)/hourly"
///         }
///     }
///     var parameters: (any Encodable & Sendable)? {
///         switch self {
///         case .daily(let request): request
///         case .hourly(_, let request): request
///         }
///     }
/// }
/// let days: [Day] = try await client.send(Forecast.daily(DailyRequest(limit: 5)))
/// ```
///
/// or each call is a structure whose type also names its answer; see `APICall`.
public protocol APIType: Sendable {
    /// The API it belongs to. A client of another API does not take it.
    associatedtype API: APIDescription

    /// The method. GET unless said otherwise.
    var method: APIMethod { get }
    /// The path below the base address. A segment `{name}` stands for that field of the parameters.
    var path: String { get }
    /// A value whose fields are the parameters: those named in the path go there, of the rest those of GET and DELETE
    /// go to the query and all others to a JSON body. What is nil is absent.
    var parameters: (any Encodable & Sendable)? { get }

    /// The call as a request. Only calls that fit no rule need one of their own.
    func request(for api: API) throws(ClientError) -> APIRequest
}

/// A call whose type names its answer. When it is `Encodable`, its own fields are its parameters:
///
/// ```swift
/// struct HourlyForecast: APICall, Encodable {
///     typealias API = Weather
///     typealias Answer = [Hour]
///     var path: String { "cities/{city}/hourly" }
///
///     var city: Int
///     var from: Date?
/// }
/// let hours = try await client.send(HourlyForecast(city: 7))
/// ```
public protocol APICall: APIType {
    /// What success answers.
    associatedtype Answer: Decodable & Sendable
}

extension APIType {
    /// GET.
    public var method: APIMethod { .get }
    /// None.
    public var parameters: (any Encodable & Sendable)? { nil }
}

extension APIType where Self: Encodable {
    /// The call's own fields.
    public var parameters: (any Encodable & Sendable)? { self }
}

extension APIType {
    /// The call as a request, by the rule for parameters.
    public func request(for api: API) throws(ClientError) -> APIRequest {
        var fields = JSONObject()
        if let parameters {
            do {
                fields = try JSON.parse(JSONCoding.encode(parameters, dates: api.dates)).object ?? fields
            } catch {
                throw .request(String(describing: error))
            }
        }
        var segments: [String] = []
        for segment in path.split(separator: "/") {
            guard segment.hasPrefix("{"), segment.hasSuffix("}") else {
                segments.append(URIText.escaped(String(segment)))
                continue
            }
            let name = String(segment.dropFirst().dropLast())
            let text = fields.removeValue(named: name).flatMap { QueryText.texts($0).first } ?? ""
            guard !text.isEmpty, text != ".", text != ".." else {
                throw .request("the field \"\(name)\" of the path is \"\(text)\"")
            }
            segments.append(URIText.escaped(text))
        }
        var request = APIRequest(method: method, path: segments.joined(separator: "/"))
        if method == .get || method == .delete {
            request.query = QueryText.query(fields, lists: api.lists == .repeated ? .repeated : .commaSeparated)
        } else if parameters != nil {
            request.body = .bytes(JSON.object(fields).bytes())
            request.headers["Content-Type"] = "application/json"
        }
        return request
    }
}
