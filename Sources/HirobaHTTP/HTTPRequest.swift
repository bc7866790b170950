/// One request, whichever version of HTTP brought it.
package struct HTTPRequest: Sendable {
    package enum Version: Sendable, Hashable {
        case http10
        case http11
        case http2
    }

    package var method: HTTPMethod
    /// The target as it was sent: `/topics?limit=20`, `http://example.org/topics` or `*`.
    package let target: String
    package var headers: HTTPHeaders
    package var body: HTTPRequestBody
    /// Who is at the other end of the connection; with a proxy in front, the proxy.
    package var peer: SocketAddress
    /// Whether the connection is TLS.
    package var isSecure: Bool
    package var version: Version
    /// The connection it came on, when that speaks HTTP/2.
    package var connection: HTTPConnection?
    /// Its stream of that connection: 1, 3, 5 and so on in the order in which the client began its requests.
    package var stream: Int32?

    /// Where path and query lie in the target's UTF-8.
    let pathStart: Int
    let pathEnd: Int

    package init(
        method: HTTPMethod, target: String, headers: HTTPHeaders = HTTPHeaders(), body: HTTPRequestBody = .empty,
        peer: SocketAddress = SocketAddress(ip: "127.0.0.1", port: 0), isSecure: Bool = false,
        version: Version = .http11
    ) {
        let path = HTTPTarget.path(in: target)
        self.init(
            method: method, target: target, pathStart: path.lowerBound, pathEnd: path.upperBound, headers: headers,
            body: body, peer: peer, isSecure: isSecure, version: version)
    }

    init(
        method: HTTPMethod, target: String, pathStart: Int, pathEnd: Int, headers: HTTPHeaders, body: HTTPRequestBody,
        peer: SocketAddress, isSecure: Bool, version: Version
    ) {
        self.method = method
        self.target = target
        self.pathStart = pathStart
        self.pathEnd = pathEnd
        self.headers = headers
        self.body = body
        self.peer = peer
        self.isSecure = isSecure
        self.version = version
    }

    /// The path as it was sent, percent escapes and all; `/` when an absolute target has none; `*` for `OPTIONS *`.
    package var path: String {
        let utf8 = target.utf8
        if pathStart == 0, pathEnd == utf8.count { return target }
        if pathStart == pathEnd { return "/" }
        let start = utf8.index(utf8.startIndex, offsetBy: pathStart)
        return String(target[start..<utf8.index(start, offsetBy: pathEnd - pathStart)])
    }

    /// What follows the question mark, as it was sent; `nil` when there is none.
    package var query: String? {
        let utf8 = target.utf8
        guard pathEnd < utf8.count else { return nil }
        return String(target[utf8.index(utf8.startIndex, offsetBy: pathEnd + 1)...])
    }
}
