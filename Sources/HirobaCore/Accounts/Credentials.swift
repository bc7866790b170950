internal import HirobaCrypto

/// What people sign in with, checked before it is used.
enum Credentials {
    /// The hash under which a device's secret is known.
    ///
    /// The secret alone is the person, so it must be one: 16…256 characters without an obvious pattern. What is
    /// random enough needs no slow hash, and a plain one can be looked up.
    static func deviceSubject(_ secret: String) throws(HirobaError) -> String {
        let scalars = Array(secret.unicodeScalars)
        guard (16...256).contains(scalars.count) else {
            throw .invalid(
                "deviceSecret",
                Sentence(en: "A device secret has 16 to 256 characters.", ja: "デバイスシークレットは16〜256文字です。"))
        }
        guard isUnpredictable(scalars.map(\.value)) else {
            throw .invalid(
                "deviceSecret",
                Sentence(
                    en: "This device secret can be guessed. Use a random one.",
                    ja: "推測されやすいデバイスシークレットです。ランダムな値を使ってください。"))
        }
        return Hex.encode(SHA256.hash(Array("hiroba device secret\n\(secret)".utf8)))
    }

    /// Rejects what people type instead of a random value: repetitions, runs like `abcdef`, few different characters.
    /// It is a net against mistakes, not a measure of randomness. Random hexadecimal digits pass, 16 or more.
    private static func isUnpredictable(_ values: [UInt32]) -> Bool {
        guard Set(values).count >= 6 else { return false }
        let steps = zip(values, values.dropFirst()).map { max($0, $1) - min($0, $1) }
        let surprising = steps.count { $0 > 1 }
        guard surprising >= 5 else { return false }
        return !(1...values.count / 2).contains { period in
            zip(values, values.dropFirst(period)).allSatisfy { $0 == $1 }
        }
    }

    /// The address in the one spelling that is compared: lower case. Nobody runs two mailboxes that differ in case.
    ///
    /// Syntax is checked loosely, as only a mail can prove an address; what is refused could break a header or a log.
    static func email(_ text: String) throws(HirobaError) -> String {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        let isPlausible =
            text.utf8.count <= 254 && parts.count == 2
            && (1...64).contains(parts[0].count) && parts[0].allSatisfy(isLocalCharacter)
            && parts[0].first != UInt8(ascii: ".") && parts[0].last != UInt8(ascii: ".")
            && isHostName(parts[1])
        guard isPlausible else {
            throw .invalid(
                "email", Sentence(en: "This is not an e-mail address.", ja: "メールアドレスの形式が正しくありません。"))
        }
        return text.lowercased()
    }

    private static func isLocalCharacter(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~.".utf8.contains(byte)
    }

    private static func isHostName(_ host: Substring.UTF8View) -> Bool {
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count >= 2
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                    && label.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
            }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// A password that may be set: at least 8 characters, at most 1,000 bytes (so that hashing it stays bounded), and
    /// nothing about what kinds of characters.
    static func newPassword(_ text: String) throws(HirobaError) {
        guard text.unicodeScalars.count >= 8 else {
            throw .invalid(
                "password", Sentence(en: "A password has at least 8 characters.", ja: "パスワードは8文字以上にしてください。"))
        }
        guard isHashable(text) else {
            throw .invalid(
                "password", Sentence(en: "A password has at most 1,000 bytes.", ja: "パスワードが長すぎます（1,000バイトまで）。"))
        }
    }

    /// A longer one was never set, so it need not be hashed to know that it is wrong.
    static func isHashable(_ password: String) -> Bool { password.utf8.count <= 1000 }
}
