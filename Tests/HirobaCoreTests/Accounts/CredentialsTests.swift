@testable import HirobaCore
import HirobaCrypto
import Testing

@Suite struct CredentialsTests {
    @Test(
        "a device secret that could be guessed is refused",
        arguments: [
            "", "short", "123456789012345", "aaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab", "1234567890123456",
            "abcdefghijklmnopqrstuvwxyz", "passwordpassword", "00000000-0000-0000-0000-000000000000",
            "abc123xyzabc123xyz", String(repeating: "k7", count: 200),
        ])
    func weakSecret(_ secret: String) {
        #expect(
            refused { () throws(HirobaError) in _ = try Credentials.deviceSubject(secret) }?.field == "deviceSecret")
    }

    @Test("random secrets are taken in every usual form, and each is somebody else")
    func randomSecrets() throws {
        var subjects: Set<String> = []
        for _ in 0..<200 {
            for secret in [
                Hex.encode(randomBytes(8)), Hex.encode(randomBytes(32)), Token.random256(), ObjectID.random(), uuid(),
                uuid().lowercased(),
            ] { subjects.insert(try Credentials.deviceSubject(secret)) }
        }
        #expect(subjects.count == 200 * 6)
    }

    private func uuid() -> String {
        let digits = Array(Hex.encode(randomBytes(16)).uppercased())
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    @Test(
        "an address is compared in lower case",
        arguments: [
            ("hana@example.org", "hana@example.org"),
            ("Hana.Sato+news@Mail.Example.ORG", "hana.sato+news@mail.example.org"),
            ("o'neil@example.co.jp", "o'neil@example.co.jp"), ("a@b.c", "a@b.c"),
        ])
    func addresses(_ written: String, _ kept: String) throws {
        #expect(try Credentials.email(written) == kept)
    }

    @Test(
        "what is no address, or could break a header, is refused",
        arguments: [
            "", "@", "hana", "hana@", "@example.org", "hana@example", "a@b@example.org", "hana @example.org",
            "hana@example.org\r\nBcc: all@example.org", "hana@exa mple.org", "hana@-example.org", "hana@example-.org",
            "hana@example..org", ".hana@example.org", "hana.@example.org", "hana@example.org.", "花@example.org",
            "hana@例え.jp", "<hana@example.org>", "\"hana\"@example.org", "hana@example.org\u{0}",
            String(repeating: "a", count: 65) + "@example.org", "a@" + String(repeating: "b.", count: 130) + "org",
        ])
    func noAddress(_ text: String) {
        #expect(refused { () throws(HirobaError) in _ = try Credentials.email(text) }?.field == "email")
    }

    @Test("a password has at least 8 characters and at most 1,000 bytes")
    func passwords() {
        func field(_ password: String) -> String? {
            refused { () throws(HirobaError) in try Credentials.newPassword(password) }?.field
        }
        #expect(field("1234567") == "password")
        #expect(field("12345678") == nil)
        #expect(field("ひろばのベンチ広") == nil)
        #expect(field(String(repeating: "x", count: 1000)) == nil)
        #expect(field(String(repeating: "x", count: 1001)) == "password")
        #expect(field(String(repeating: "ひ", count: 400)) == "password")
    }

    private func refused(_ work: () throws(HirobaError) -> Void) -> HirobaError? {
        do { try work() } catch { return error }
        return nil
    }
}
