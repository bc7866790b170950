import HirobaCrypto
import Testing

struct SHA256Tests {
    @Test(
        "Matches the examples of FIPS 180-4",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func examples(text: String, hash: String) {
        #expect(Hex.encode(SHA256.hash(Array(text.utf8))) == hash)
    }

    @Test("Pieces of any size give the hash of the whole", arguments: [1, 63, 64, 65, 1000, 1280])
    func pieces(size: Int) {
        let bytes = (0..<1280).map { UInt8($0 % 256) }
        var hash = SHA256()
        for start in stride(from: 0, to: bytes.count, by: size) {
            hash.update(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        // Computed with Python's hashlib.
        #expect(Hex.encode(hash.finalize()) == "d414b085826eb06778483ba35564dc849e643359f69ed9747878ba6e54985bed")
    }

    @Test("Without any piece it is the hash of nothing")
    func nothing() {
        let hash = SHA256()
        #expect(hash.finalize() == SHA256.hash([]))
    }
}
