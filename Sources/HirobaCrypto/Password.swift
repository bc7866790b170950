import CSodium

/// Passwords as argon2id hashes: 19 MiB, two passes, one lane, which is what OWASP's password storage page asks for.
///
/// Both functions take about 40 ms of one core and block: call them on a `WorkerPool`.
package enum Password {
    /// The machine had no 19 MiB to spare. Nothing is wrong with the password.
    package struct OutOfMemory: Error {}

    /// A text that holds algorithm, parameters, salt and hash. Two hashes of one password differ.
    package static func hash(_ password: String) throws(OutOfMemory) -> String {
        requireSodium()
        let bytes = password.utf8.map { CChar(bitPattern: $0) }
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        guard crypto_pwhash_str(&text, bytes, UInt64(bytes.count), passes, memory) == 0 else { throw OutOfMemory() }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether `hash` was made from `password`. A text that is no hash matches nothing.
    ///
    /// With `nil`, when there is no such account, it does the same work and answers false, so that the time it takes
    /// does not tell whether the account exists.
    package static func verify(_ password: String, against hash: String?) -> Bool {
        requireSodium()
        let bytes = password.utf8.map { CChar(bitPattern: $0) }
        let matches = crypto_pwhash_str_verify(hash ?? decoy, bytes, UInt64(bytes.count)) == 0
        return matches && hash != nil
    }

    private static let passes: UInt64 = 2
    private static let memory = 19 * 1024 * 1024

    /// The hash of a password that was thrown away, with the parameters above.
    private static let decoy =
        "$argon2id$v=19$m=19456,t=2,p=1$DtAtmoNUXTo34rpb9GPz9g$MsGTjg5btaigrp8weGxkuF+YMmgoxNc1BlcxNufyyUA"
}
