import COpenSSL
import Glibc

/// The TLS state of one connection. Belongs to its connection; freed with it.
final class TLSSession {
    private let ssl: OpaquePointer

    init?(context: TLSContext, descriptor: CInt) {
        guard let ssl = SSL_new(context.pointer) else { return nil }
        guard SSL_set_fd(ssl, descriptor) == 1 else {
            SSL_free(ssl)
            return nil
        }
        SSL_set_accept_state(ssl)
        self.ssl = ssl
    }

    /// For a connection that goes out. The certificate must be for `host`.
    init?(context: TLSContext, descriptor: CInt, expecting host: String) {
        guard let ssl = SSL_new(context.pointer) else { return nil }
        guard SSL_set_fd(ssl, descriptor) == 1, copenssl_expect_server(ssl, host) == 1 else {
            SSL_free(ssl)
            return nil
        }
        SSL_set_connect_state(ssl)
        self.ssl = ssl
    }

    deinit { SSL_free(ssl) }

    enum Handshake {
        case done(isHTTP2: Bool)
        case again
        case failed
    }

    func handshake() -> Handshake {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            var name: UnsafePointer<UInt8>?
            var length: CUnsignedInt = 0
            SSL_get0_alpn_selected(ssl, &name, &length)
            let protocolName = UnsafeBufferPointer(start: name, count: Int(length))
            return .done(isHTTP2: protocolName.elementsEqual("h2".utf8))
        }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .again
        default: return .failed
        }
    }

    /// After a handshake that failed: why, in OpenSSL's words.
    var failure: String {
        let result = SSL_get_verify_result(ssl)
        if result != Int(X509_V_OK) { return String(cString: X509_verify_cert_error_string(result)) }
        return TLSContext.lastError()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        ERR_clear_error()
        var count = 0
        let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        return outcome(result, count)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> IOResult {
        ERR_clear_error()
        var count = 0
        let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
        return outcome(result, count)
    }

    private func outcome(_ result: CInt, _ count: Int) -> IOResult {
        if result == 1 { return .count(count) }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .again
        case SSL_ERROR_ZERO_RETURN: return .end
        default: return .failed
        }
    }

    /// Sends close_notify, so that the other side knows that nothing was cut off (RFC 8446 section 6.1).
    func sendClose() {
        ERR_clear_error()
        if SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
    }
}
