internal import HirobaCrypto
internal import HirobaHTTP

/// Tells forms of ours from forms that another site made a browser send.
///
/// Each form carries a signature of the browser's device cookie, which no other site can read or compute. Browsers also
/// say where a form comes from; what they say must be us.
struct FormGuard: Sendable {
    private let key: [UInt8]
    /// `host[:port]` of the public address, for when a proxy does not hand on the host it was asked for.
    private let publicHost: String?

    init(secret: [UInt8], publicURL: String?) {
        // Its own key, so that no other use of the secret can produce a token.
        key = HMACSHA256.sign(Array("hiroba site forms".utf8), key: secret)
        publicHost = publicURL.flatMap(Self.host)
    }

    func token(for visitor: Visitor) -> String {
        Base64URL.encode(HMACSHA256.sign(Array(visitor.device.utf8), key: key))
    }

    func accepts(_ token: String?, from visitor: Visitor) -> Bool {
        guard let token, !visitor.isNew else { return false }
        return constantTimeEqual(Array(token.utf8), Array(self.token(for: visitor).utf8))
    }

    func isOurs(_ request: HTTPRequest) -> Bool {
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin", site != "none" { return false }
        guard let origin = request.headers["Origin"] else { return true }
        guard let host = Self.host(of: origin) else { return false }
        return host == request.headers["Host"]?.lowercased() || host == publicHost
    }

    /// `host[:port]` of an origin or address.
    private static func host(of address: String) -> String? {
        for scheme in ["http://", "https://"] where address.hasPrefix(scheme) {
            return address.dropFirst(scheme.count).prefix { $0 != "/" }.lowercased()
        }
        return nil
    }
}
