import HirobaCrypto
import Testing

struct EncodingsTests {
    @Test(
        "Base64url matches RFC 4648 without padding",
        arguments: [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ])
    func base64URL(text: String, encoded: String) {
        #expect(Base64URL.encode(Array(text.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(text.utf8))
    }

    @Test("Base64url uses - and _")
    func alphabet() {
        #expect(Base64URL.encode([0xfb, 0xff, 0xbf]) == "-_-_")
        #expect(Base64URL.decode("-_-_") == [0xfb, 0xff, 0xbf])
    }

    @Test(
        "Base64url has one spelling for each value",
        arguments: ["Zg==", "Zh", "Zm9", "A", "AAAAA", "+/+/", "Zm 9v", "é"])
    func refusedBase64URL(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("Every value survives both encodings")
    func roundTrip() {
        for count in 0..<70 {
            let bytes = randomBytes(count)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        }
    }

    @Test("Hex is written in lower case and read in either")
    func hex() {
        #expect(Hex.encode([0, 0x0f, 0xf0, 0xab]) == "000ff0ab")
        #expect(Hex.decode("000Ff0aB") == [0, 0x0f, 0xf0, 0xab])
    }

    @Test("Hex refuses odd lengths and other characters", arguments: ["a", "0g", "0x00", " 00", "é"])
    func refusedHex(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}
