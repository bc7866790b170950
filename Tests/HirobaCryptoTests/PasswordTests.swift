import HirobaCrypto
import Testing

struct PasswordTests {
    @Test("The hash names argon2id with 19 MiB, two passes, one lane, and matches only its password")
    func roundTrip() throws {
        let hash = try Password.hash("correct horse バッテリー")
        #expect(hash.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(Password.verify("correct horse バッテリー", against: hash))
        #expect(!Password.verify("correct horse バッテリ", against: hash))
        #expect(!Password.verify("", against: hash))
    }

    @Test("Two hashes of one password differ")
    func salted() throws {
        #expect(try Password.hash("same") != Password.hash("same"))
    }

    @Test("Verifies a hash of the reference implementation, made with other parameters")
    func reference() {
        let hash = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        #expect(Password.verify("password", against: hash))
        #expect(!Password.verify("Password", against: hash))
    }

    @Test("A zero byte is part of the password")
    func zero() throws {
        let hash = try Password.hash("a\0b")
        #expect(Password.verify("a\0b", against: hash))
        #expect(!Password.verify("a", against: hash))
    }

    @Test("A text that is no hash matches nothing", arguments: ["", "x", "$argon2id$", "$argon2id$v=19$m=1,t=0,p=0$$"])
    func noHash(text: String) {
        #expect(!Password.verify("x", against: text))
    }

    @Test("Without an account nothing matches")
    func noAccount() {
        #expect(!Password.verify("x", against: nil))
    }
}
