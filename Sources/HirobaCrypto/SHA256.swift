import COpenSSL

/// SHA-256: 32 bytes from any number of bytes, at once or in pieces.
package struct SHA256: ~Copyable, @unchecked Sendable {
    // Unchecked because of the pointer; it has one owner, and so has this value.
    // Traps mean that there is no memory or no SHA-256 in this OpenSSL; no input leads to them.
    private let context: OpaquePointer

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let status = EVP_Digest(bytes, bytes.count, &digest, nil, algorithm.pointer, nil)
        precondition(status == 1, "SHA-256 failed")
        return digest
    }

    /// Starts with no bytes.
    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, Self.algorithm.pointer, nil) == 1 else {
            preconditionFailure("no memory for SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package mutating func update(_ bytes: [UInt8]) {
        precondition(EVP_DigestUpdate(context, bytes, bytes.count) == 1, "SHA-256 failed")
    }

    /// The hash of all bytes given so far.
    package consuming func finalize() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        precondition(EVP_DigestFinal_ex(context, &digest, nil) == 1, "SHA-256 failed")
        return digest
    }

    /// Looked up once: OpenSSL 3 otherwise searches its providers on every hash.
    static let algorithm = Algorithm()

    struct Algorithm: @unchecked Sendable {
        // Unchecked because of the pointer: OpenSSL never changes a fetched algorithm, and it is never freed.
        let pointer: OpaquePointer

        init() {
            guard let pointer = EVP_MD_fetch(nil, "SHA256", nil) else {
                preconditionFailure("this OpenSSL has no SHA-256")
            }
            self.pointer = pointer
        }
    }
}
