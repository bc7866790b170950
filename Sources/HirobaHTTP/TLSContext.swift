import COpenSSL

/// Certificate, key and rules of TLS for new connections. Sessions keep theirs alive when it is replaced.
final class TLSContext: @unchecked Sendable {
    // Unchecked because OpenSSL itself locks an SSL_CTX that is no longer being set up.
    let pointer: OpaquePointer

    init(_ files: HTTPServerConfiguration.TLSFiles, speaksHTTP2Only: Bool = false) throws {
        guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw HTTPServerError("TLS cannot be set up") }
        self.pointer = pointer
        copenssl_configure_server(pointer)
        if speaksHTTP2Only { copenssl_offer_http2_only(pointer) }
        guard SSL_CTX_use_certificate_chain_file(pointer, files.certificate) == 1 else {
            throw HTTPServerError("the certificate \(files.certificate) cannot be used: \(Self.lastError())")
        }
        guard SSL_CTX_use_PrivateKey_file(pointer, files.key, SSL_FILETYPE_PEM) == 1 else {
            throw HTTPServerError("the key \(files.key) cannot be used: \(Self.lastError())")
        }
        guard SSL_CTX_check_private_key(pointer) == 1 else {
            throw HTTPServerError("the key \(files.key) does not belong to the certificate \(files.certificate)")
        }
    }

    /// For connections that go out: the other side must show a certificate by an authority that is trusted.
    init(trusting trust: HTTP2Client.Configuration.Trust) throws {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw HTTPServerError("TLS cannot be set up") }
        self.pointer = pointer
        copenssl_configure_client(pointer)
        let isTrusting =
            switch trust {
            case .authority(let file): SSL_CTX_load_verify_file(pointer, file) == 1
            case .system, .clear: SSL_CTX_set_default_verify_paths(pointer) == 1
            }
        guard isTrusting else {
            throw HTTPServerError("the certificate authority cannot be used: \(Self.lastError())")
        }
    }

    deinit { SSL_CTX_free(pointer) }

    static func lastError() -> String {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        ERR_clear_error()
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
