import HirobaCrypto
import Testing

@Suite struct JSONWebTokenTests {
    @Test("a token says what was put in, and whose it is")
    func roundTrip() throws {
        let key = ES256.PrivateKey.generate()
        let header = Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8)
        let claims = Array(#"{"iss":"DEF123GHIJ","iat":1800000000}"#.utf8)
        let made = JSONWebToken(header: header, claims: claims, key: key)
        #expect(made.text.split(separator: ".").count == 3)
        let read = try #require(JSONWebToken(made.text))
        #expect(read == made)
        #expect(read.header == header)
        #expect(read.claims == claims)
        #expect(read.isSigned(by: key.publicKey))
        #expect(!read.isSigned(by: ES256.PrivateKey.generate().publicKey))
        let other = JSONWebToken(header: header, claims: Array(#"{"iss":"DEF123GHIJ","iat":1}"#.utf8), key: key)
        let parts = made.text.split(separator: ".")
        let mixed = try #require(JSONWebToken("\(parts[0]).\(other.text.split(separator: ".")[1]).\(parts[2])"))
        #expect(!mixed.isSigned(by: key.publicKey))
    }

    @Test("what is not three parts of base64url is no token")
    func malformed() {
        for text in ["", "a.b", "a.b.c.d", "YQ.YQ", "YQ==.YQ==.YQ==", "YQ.YQ.*", "YQ.YQ.YQ.", " YQ.YQ.YQ"] {
            #expect(JSONWebToken(text) == nil, "\(text)")
        }
    }
}
