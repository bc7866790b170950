import COpenSSL
import Glibc
import HirobaCrypto
import HirobaThreads

@testable import HirobaSimulator

/// An authority made for one test, and a certificate by it.
struct TestCertificate: Sendable {
    let authority: String
    let file: String
    let key: String

    struct Unusable: Error {}

    /// - Parameters:
    ///   - names: as OpenSSL writes them.
    ///   - days: how long it is good from now on; negative when it has expired.
    init(in path: String, names: String = "DNS:localhost,IP:127.0.0.1", days: CInt = 2) throws {
        let folder = try SimulatorFolder(path)
        let authorityKey = ES256.PrivateKey.generate().pem
        let ownKey = ES256.PrivateKey.generate().pem
        guard let authority = copenssl_make_certificate(authorityKey, "test", nil, nil, nil, 2) else {
            throw Unusable()
        }
        defer { free(authority) }
        guard let own = copenssl_make_certificate(ownKey, "test", names, authorityKey, authority, days) else {
            throw Unusable()
        }
        defer { free(own) }
        try folder.write(String(cString: authority), to: "authority.pem")
        try folder.write(String(cString: own), to: "certificate.pem")
        try folder.write(ownKey, to: "key.pem")
        self.authority = folder.file("authority.pem")
        file = folder.file("certificate.pem")
        key = folder.file("key.pem")
    }
}

/// A server of TLS without ALPN that says one thing to everybody.
final class PlainTLSServer: @unchecked Sendable {
    // Unchecked because of the context, which OpenSSL itself guards.
    let port: Int
    private let listener: ListeningSocket
    private let context: OpaquePointer?
    private let sockets = Lock<[CInt]>([])

    init(_ certificate: TestCertificate, says text: String) throws {
        listener = try ListeningSocket()
        port = listener.port
        context = SSL_CTX_new(TLS_server_method())
        SSL_CTX_use_certificate_chain_file(context, certificate.file)
        SSL_CTX_use_PrivateKey_file(context, certificate.key, SSL_FILETYPE_PEM)
        startThread(name: "plain-tls") { [self] in
            while let socket = listener.accept() {
                sockets.withLock { $0.append(socket) }
                startThread(name: "plain-tls") { [self] in serve(socket, text) }
            }
        }
    }

    private func serve(_ socket: CInt, _ text: String) {
        let session = SSL_new(context)
        defer {
            SSL_free(session)
            sockets.withLock { $0.removeAll { $0 == socket } }
            close(socket)
        }
        SSL_set_fd(session, socket)
        guard SSL_accept(session) == 1 else { return }
        SSL_write(session, text, CInt(text.utf8.count))
        var byte: UInt8 = 0
        while SSL_read(session, &byte, 1) > 0 {}
    }

    func stop() {
        listener.stop()
        sockets.withLock { for socket in $0 { shutdown(socket, CInt(SHUT_RDWR)) } }
    }

    deinit { SSL_CTX_free(context) }
}
