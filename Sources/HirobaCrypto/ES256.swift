import COpenSSL

/// ECDSA on P-256 with SHA-256, as JSON Web Tokens use it (RFC 7518 section 3.4): a signature is R and S, 32 bytes each.
package enum ES256 {
    // Traps below mean that there is no memory or that this OpenSSL lacks P-256. No input leads to them: keys from files
    // and signatures from strangers are checked first, and throw.

    /// Not a PEM text with a P-256 key of the kind that was asked for, or one under a passphrase.
    package struct BadKey: Error, Hashable {}

    /// A key that signs. Apple gives it out as a `.p8` file: PKCS#8 in PEM.
    package struct PrivateKey: Sendable {
        private let key: Key

        package init(pem: String) throws(BadKey) { key = try Key(pem: pem, isPrivate: true) }

        private init(_ key: Key) { self.key = key }

        /// A new key. For stand-ins and tests: real keys come from whoever checks the signatures.
        package static func generate() -> PrivateKey {
            guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
                preconditionFailure("this OpenSSL has no elliptic curves")
            }
            defer { EVP_PKEY_CTX_free(context) }
            var pointer: OpaquePointer?
            guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
                EVP_PKEY_generate(context, &pointer) == 1, let pointer
            else { preconditionFailure("this OpenSSL makes no P-256 keys") }
            return PrivateKey(Key(pointer))
        }

        /// PKCS#8 in PEM, without a passphrase.
        package var pem: String {
            Key.text { PEM_write_bio_PKCS8PrivateKey($0, key.pointer, nil, nil, 0, nil, nil) }
        }

        package var publicKey: PublicKey {
            guard let key = try? PublicKey(pem: Key.text { PEM_write_bio_PUBKEY($0, key.pointer) }) else {
                preconditionFailure("a private key holds its public one")
            }
            return key
        }

        /// 64 bytes, different each time. Takes about 50 µs.
        package func sign(_ message: [UInt8]) -> [UInt8] {
            guard let context = EVP_MD_CTX_new() else { preconditionFailure("no memory for a signature") }
            defer { EVP_MD_CTX_free(context) }
            // P-256 signatures are at most 72 bytes in DER.
            var der = [UInt8](repeating: 0, count: 80)
            var length = der.count
            guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1,
                EVP_DigestSign(context, &der, &length, message, message.count) == 1
            else { preconditionFailure("signing failed") }
            return Signature.raw(fromDER: Array(der[..<length]))
        }
    }

    /// A key that checks signatures.
    package struct PublicKey: Sendable {
        private let key: Key

        /// A `PUBLIC KEY` in PEM.
        package init(pem: String) throws(BadKey) { key = try Key(pem: pem, isPrivate: false) }

        package var pem: String { Key.text { PEM_write_bio_PUBKEY($0, key.pointer) } }

        /// False also for a signature that is not 64 bytes, such as one in DER.
        package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
            guard let der = Signature.der(fromRaw: signature), let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1 else { return false }
            defer { ERR_clear_error() }
            return EVP_DigestVerify(context, der, der.count, message, message.count) == 1
        }
    }

    /// Owns an OpenSSL key.
    private final class Key: @unchecked Sendable {
        // Unchecked because of the pointer: OpenSSL's keys may be used by several threads once nobody changes them.
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        init(pem: String, isPrivate: Bool) throws(BadKey) {
            let bytes = Array(pem.utf8)
            guard let input = BIO_new_mem_buf(bytes, CInt(clamping: bytes.count)) else { throw BadKey() }
            defer {
                BIO_free(input)
                ERR_clear_error()
            }
            // An empty passphrase is given, lest OpenSSL ask for one at the terminal.
            var passphrase: [CChar] = [0]
            let read =
                isPrivate
                ? PEM_read_bio_PrivateKey(input, nil, nil, &passphrase)
                : PEM_read_bio_PUBKEY(input, nil, nil, &passphrase)
            guard let read else { throw BadKey() }
            var name = [CChar](repeating: 0, count: 32)
            guard EVP_PKEY_get_group_name(read, &name, name.count, nil) == 1,
                name.starts(with: "prime256v1".utf8CString)
            else {
                EVP_PKEY_free(read)
                throw BadKey()
            }
            pointer = read
        }

        deinit { EVP_PKEY_free(pointer) }

        static func text(_ write: (OpaquePointer) -> CInt) -> String {
            guard let output = BIO_new(BIO_s_mem()), write(output) == 1 else {
                preconditionFailure("no memory for a key's text")
            }
            defer { BIO_free(output) }
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1024)
            while case let count = BIO_read(output, &buffer, CInt(buffer.count)), count > 0 {
                text += buffer[..<Int(count)]
            }
            return String(decoding: text, as: UTF8.self)
        }
    }

    /// OpenSSL writes signatures in DER, tokens hold the two numbers as they are.
    private enum Signature {
        static func raw(fromDER der: [UInt8]) -> [UInt8] {
            var raw = [UInt8](repeating: 0, count: 64)
            let isDone = der.withUnsafeBufferPointer { bytes in
                var next = bytes.baseAddress
                guard let signature = d2i_ECDSA_SIG(nil, &next, der.count) else { return false }
                defer { ECDSA_SIG_free(signature) }
                return raw.withUnsafeMutableBufferPointer { raw in
                    guard let start = raw.baseAddress else { return false }
                    return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
                        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
                }
            }
            precondition(isDone, "OpenSSL's own signature cannot be read")
            return raw
        }

        static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
            guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
            defer { ECDSA_SIG_free(signature) }
            // From here on the numbers belong to the signature.
            guard ECDSA_SIG_set0(signature, BN_bin2bn(raw, 32, nil), BN_bin2bn(Array(raw[32...]), 32, nil)) == 1
            else { return nil }
            var der = [UInt8](repeating: 0, count: 80)
            let count = der.withUnsafeMutableBufferPointer { buffer in
                var next = buffer.baseAddress
                return i2d_ECDSA_SIG(signature, &next)
            }
            return count > 0 ? Array(der[..<Int(count)]) : nil
        }
    }
}
