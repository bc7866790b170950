import HirobaContract
import HirobaHTTP

/// Calls from web pages of other origins, as far as `--cors-origin` allows them.
///
/// There are no cookies in this API, so an origin that is not named can do with it what curl can, and read nothing.
extension API {
    /// Lets the page that asked read the answer.
    func shareWithOrigins(_ response: inout HTTPResponse, _ request: HTTPRequest) {
        guard !options.corsOrigins.isEmpty else { return }
        response.headers.add("Vary", "Origin")
        guard let origin = request.headers["Origin"], options.corsOrigins.contains(origin) else { return }
        response.headers.add("Access-Control-Allow-Origin", origin)
        response.headers.add("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id, Content-Range")
    }

    /// The answer to a request that no call takes. A page may read that as well.
    func refuse(_ refusal: Refusal, _ request: HTTPRequest) -> HTTPResponse {
        var response = problem(for: refusal, in: request)
        shareWithOrigins(&response, request)
        return response
    }

    /// Answers a browser that asks whether it may send a call; nil when the request is no such question.
    func preflight(_ request: HTTPRequest) -> HTTPResponse? {
        guard request.method == .options, !options.corsOrigins.isEmpty,
            request.headers.contains("Access-Control-Request-Method"), request.path.hasPrefix(Route.prefix + "/")
        else { return nil }
        var response = HTTPResponse(.noContent)
        shareWithOrigins(&response, request)
        guard response.headers.contains("Access-Control-Allow-Origin") else { return response }
        response.headers.add("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
        response.headers.add(
            "Access-Control-Allow-Headers",
            "Authorization, Content-Type, Accept-Language, If-None-Match, If-Range, Range, "
                + "\(HeaderName.idempotencyKey), \(HeaderName.client), \(HeaderName.lastEventID)")
        response.headers.add("Access-Control-Max-Age", "600")
        return response
    }
}
