#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HirobaContract

/// Our own API, described as any other is.
struct HirobaAPI: APIDescription {
    var baseURL: URL
    var languages: [String]
    var device: String?
    var keeper: SessionKeeper

    func authorize(_ request: inout APIRequest) async throws(ClientError) {
        request.headers[HeaderName.client] = ClientVersion.current.description
        if !languages.isEmpty { request.headers["Accept-Language"] = languages.joined(separator: ", ") }
        if let device { request.headers["User-Agent"] = device }
        if request.headers["Authorization"] == nil, let token = try await keeper.signedIn()?.token {
            request.headers["Authorization"] = "Bearer \(token)"
        }
    }
}

/// A call of the contract as a call of the generic client.
struct HirobaCall<Description: CallDescription, Answer: Decodable & Sendable>: APICall {
    typealias API = HirobaAPI

    var call: Description
    /// The same for every try.
    var idempotencyKey: String?
    /// Used instead of the session's.
    var token: String?
    var body: RequestBody = .none
    var bodyType: String?
    var uploadProgress: UploadProgress?
    var lastEventID: String?

    init(_ call: Description) {
        self.call = call
        if Description.route.method == .post { idempotencyKey = UUID().uuidString }
    }

    var path: String { Description.route.template }

    func request(for api: HirobaAPI) throws(ClientError) -> APIRequest {
        let encoded: EncodedCall
        do {
            encoded = try CallCoding.encode(call)
        } catch {
            throw .request(error.description)
        }
        var request = APIRequest(
            method: encoded.method, path: String(encoded.path.dropFirst()), query: encoded.query)
        if let body = encoded.body {
            request.body = .bytes(body)
            request.headers["Content-Type"] = "application/json"
        } else if case .none = body {
        } else {
            request.body = body
            request.headers["Content-Type"] = bodyType
            request.uploadProgress = uploadProgress
        }
        request.headers[HeaderName.idempotencyKey] = idempotencyKey
        request.headers[HeaderName.lastEventID] = lastEventID
        if let token { request.headers["Authorization"] = "Bearer \(token)" }
        return request
    }
}
