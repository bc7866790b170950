/// A JSON Web Token in its compact form (RFC 7519, RFC 7515 section 3.1) with an ES256 signature. What header and claims
/// say is the business of whoever makes or checks it.
package struct JSONWebToken: Sendable, Hashable {
    /// JSON, as it lies in the token.
    package let header: [UInt8]
    package let claims: [UInt8]
    package let signature: [UInt8]
    package let text: String

    /// Signs `header` and `claims`, each a JSON object in UTF-8. The header must name `ES256` itself.
    package init(header: [UInt8], claims: [UInt8], key: ES256.PrivateKey) {
        let signed = "\(Base64URL.encode(header)).\(Base64URL.encode(claims))"
        self.header = header
        self.claims = claims
        signature = key.sign(Array(signed.utf8))
        text = "\(signed).\(Base64URL.encode(signature))"
    }

    /// Takes a token apart; `nil` unless it is three parts of base64url. Nothing is known about it yet: see `isSigned`.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(String(parts[0])),
            let claims = Base64URL.decode(String(parts[1])), let signature = Base64URL.decode(String(parts[2]))
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        self.text = text
    }

    /// Whether the holder of the key's private half signed exactly this.
    package func isSigned(by key: ES256.PublicKey) -> Bool {
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return key.isValid(signature, for: Array(text.utf8[..<end]))
    }
}
