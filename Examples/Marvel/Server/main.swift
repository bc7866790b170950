import Glibc
import HirobaHTTP

/// The value that follows a flag.
func option(_ name: String) -> String? {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
}

if CommandLine.arguments.contains("--help") {
    print(
        """
        marvel-server: the comics API with invented data, for Examples/Marvel.

          --port NUMBER       on 127.0.0.1; 8091 unless set, 0 for any
          --certificate FILE  with --key FILE: HTTPS instead of HTTP

        It accepts the keys of the documentation's own example: 1234 (public) and abcd (private).
        """)
    exit(0)
}

let comics = ComicsServer(publicKey: "1234", privateKey: "abcd")
var configuration = HTTPServerConfiguration(port: option("--port").flatMap { Int($0) } ?? 8091)
if let certificate = option("--certificate"), let key = option("--key") {
    configuration.tls = HTTPServerConfiguration.TLSFiles(certificate: certificate, key: key)
}
do {
    let server = try HTTPServer(configuration: configuration) { comics.handle($0) }
    let address = try await server.start()
    print("\(configuration.tls == nil ? "http" : "https")://\(address)")
    // Whoever started this may read it through a pipe.
    fflush(nil)
    while true { try await Task.sleep(for: .seconds(3600)) }
} catch {
    print("marvel-server: \(error)")
    exit(1)
}
