import HirobaCrypto
import Testing

struct RandomTests {
    @Test("Gives as many bytes as asked for, and other ones each time")
    func bytes() {
        #expect(randomBytes(0) == [])
        #expect(randomBytes(33).count == 33)
        #expect(randomBytes(16) != randomBytes(16))
    }

    @Test("A token is 256 bits in base64url")
    func token() {
        let token = Token.random256()
        #expect(token.utf8.count == 43)
        #expect(Base64URL.decode(token)?.count == 32)
        #expect(token != Token.random256())
    }

    @Test("An object id is 16 letters and digits, each as likely as any other")
    func objectID() {
        var counts: [Character: Int] = [:]
        var ids: Set<String> = []
        for _ in 0..<5_000 {
            let id = ObjectID.random()
            #expect(id.count == 16)
            ids.insert(id)
            for character in id { counts[character, default: 0] += 1 }
        }
        #expect(ids.count == 5_000)
        let alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        #expect(Set(counts.keys) == Set(alphabet))
        // Chi-squared with 61 degrees of freedom: a fair source passes 150 once in a hundred million runs. Taking a
        // byte modulo 62 without refusing the highest gives about 480.
        let expected = 5_000.0 * 16 / 62
        let distance = counts.values.reduce(0.0) { sum, count in
            let difference = Double(count) - expected
            return sum + difference * difference / expected
        }
        #expect(distance < 150)
    }

    @Test("a UUID has its form, and no two are alike")
    func uuids() {
        let ids = (0..<1000).map { _ in UUIDText.random() }
        #expect(Set(ids).count == 1000)
        for id in ids {
            #expect(UUIDText.isOne(id))
            #expect(Array(id)[14] == "4")
            #expect("89ab".contains(Array(id)[19]))
        }
        #expect(UUIDText.isOne("0FE1DC2B-1C2D-0000-0a9b-0123456789AB"))
        for text in [
            "", "0fe1dc2b1c2d0000000000123456789abcde", "0fe1dc2b-1c2d-4e3f-8a9b-0123456789a",
            "0fe1dc2b-1c2d-4e3f-8a9b-0123456789abc", "0fe1dc2b-1c2d-4e3f-8a9b-0123456789ag",
            "0fe1dc2b-1c2d-4e3f-8a9b00123456789ab", "-fe1dc2b-1c2d-4e3f-8a9b-0123456789ab",
        ] {
            #expect(!UUIDText.isOne(text), "\(text)")
        }
    }
}
