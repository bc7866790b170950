package import HirobaHTTP

internal import COpenSSL
internal import Glibc
internal import HirobaCrypto

/// The stand-in's own certificate authority and the certificate of its front, made at first start and kept.
///
/// Providers are given `authorityFile` to trust. Nothing else should: its key lies in a folder of a test tool.
package struct Authority: Sendable {
    package let authorityFile: String
    package let files: HTTPServerConfiguration.TLSFiles

    /// Besides this machine: Apple's names, for providers that cannot be told another host and are sent here by name.
    private static let names =
        "DNS:localhost,DNS:*.localhost,IP:127.0.0.1,IP:::1,"
        + "DNS:api.push.apple.com,DNS:api.sandbox.push.apple.com,DNS:api.development.push.apple.com"

    package init(in folder: SimulatorFolder) throws(SimulatorFailure) {
        authorityFile = folder.file("authority.pem")
        files = .init(certificate: folder.file("front.pem"), key: folder.file("front.key"))
        let authorityKey = try Self.key("authority.key", in: folder)
        let authority = try Self.certificate("authority.pem", in: folder) {
            copenssl_make_certificate(authorityKey, "Hiroba phones: test authority", nil, nil, nil, 3650)
        }
        let frontKey = try Self.key("front.key", in: folder)
        _ = try Self.certificate("front.pem", in: folder) {
            // Longer than 825 days is refused by Apple's own systems.
            copenssl_make_certificate(frontKey, "localhost", Self.names, authorityKey, authority, 820)
        }
    }

    private static func key(_ name: String, in folder: SimulatorFolder) throws(SimulatorFailure) -> String {
        if let pem = try folder.text(name) { return pem }
        let pem = ES256.PrivateKey.generate().pem
        try folder.write(pem, to: name)
        return pem
    }

    private static func certificate(
        _ name: String, in folder: SimulatorFolder, make: () -> UnsafeMutablePointer<CChar>?
    ) throws(SimulatorFailure) -> String {
        if let pem = try folder.text(name) { return pem }
        guard let text = make() else {
            throw SimulatorFailure(
                "The certificate \(folder.file(name)) cannot be made; empty the folder and start again.")
        }
        defer { free(text) }
        let pem = String(cString: text)
        try folder.write(pem, to: name)
        return pem
    }
}
