import HirobaCrypto
import Testing

@Suite struct ES256Tests {
    @Test("a signature is 64 bytes that only the key's own public half takes, for these bytes")
    func signs() throws {
        let key = ES256.PrivateKey.generate()
        let message = Array("a comment has arrived".utf8)
        // Many, because R or S begins with zeros now and then, which DER leaves out.
        for _ in 0..<300 {
            let signature = key.sign(message)
            #expect(signature.count == 64)
            #expect(key.publicKey.isValid(signature, for: message))
        }
        let signature = key.sign(message)
        #expect(!key.publicKey.isValid(signature, for: message + [0]))
        #expect(!ES256.PrivateKey.generate().publicKey.isValid(signature, for: message))
        for index in [0, 31, 32, 63] {
            var wrong = signature
            wrong[index] ^= 1
            #expect(!key.publicKey.isValid(wrong, for: message), "byte \(index)")
        }
        #expect(!key.publicKey.isValid(Array(signature.dropLast()), for: message))
        #expect(!key.publicKey.isValid([], for: message))
        #expect(!key.publicKey.isValid([UInt8](repeating: 0, count: 64), for: message))
    }

    @Test("checks the example of RFC 7515, appendix A.3")
    func example() throws {
        let token = try #require(
            JSONWebToken(
                "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
                    + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
        let key = try ES256.PublicKey(
            pem: """
                -----BEGIN PUBLIC KEY-----
                MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
                6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
                -----END PUBLIC KEY-----
                """)
        #expect(token.isSigned(by: key))
        #expect(String(decoding: token.header, as: UTF8.self) == #"{"alg":"ES256"}"#)
    }

    @Test("a key survives being written and read")
    func text() throws {
        let key = ES256.PrivateKey.generate()
        #expect(key.pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        let again = try ES256.PrivateKey(pem: key.pem)
        #expect(try ES256.PublicKey(pem: key.publicKey.pem).isValid(again.sign([1, 2]), for: [1, 2]))
    }

    @Test("what is no P-256 key is refused")
    func badKeys() {
        let key = ES256.PrivateKey.generate()
        // P-384, and P-256 under a passphrase: asking for one would stop the server.
        let otherCurve = """
            -----BEGIN PRIVATE KEY-----
            MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBQc1/3Gs73lC6UVJFS
            U1ZHrtoFuAY7D7osl5OMBW/frWquKuAerX0YB9gEaxHFAwuhZANiAASlZDscSq40
            +YP7oBgVD7zv+CpKw1hjvyzV7NTgcsyXgxgvkSPofbMSKZnwwrOykkXByREYgmDz
            pHNV+hcBzJgVwZCDuT6him85AyNFBmEMbxBEK5RDUmxD94UU/4Iv/No=
            -----END PRIVATE KEY-----
            """
        let locked = """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiW8ySTNjmbGgICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEICRZuIv8RukfXfMM7d6Eb8EgZAO
            6i3Qv8Nwe/n7FNUwjM3qRIRuHbX2yXHaMeSUrsH+ggSzvjuVbISyQsGAvOpaYars
            /JJdsNyV8HqekFRmpYR5nlJJb6cGHq946WYSRAyKwwXzfGAUXdk5hG8NZrv0PnlX
            1MWHgOdXSFUQ3mNtcUNrI0pN3HPFgStxAT3kJjwgKK6chdAYdHZXFfL3IsOtM6U=
            -----END ENCRYPTED PRIVATE KEY-----
            """
        for text in ["", "key", otherCurve, locked, key.publicKey.pem, String(key.pem.dropFirst(60))] {
            #expect(throws: ES256.BadKey.self) { try ES256.PrivateKey(pem: text) }
        }
        #expect(throws: ES256.BadKey.self) { try ES256.PublicKey(pem: key.pem) }
    }
}
