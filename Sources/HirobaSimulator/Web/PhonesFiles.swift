internal import CSimulatorFiles
internal import HirobaCrypto

/// The files that browsers fetch. Their address holds a hash of all of them, so that a browser may keep them for ever
/// and still never mixes two versions.
struct PhonesFiles: Sendable {
    struct File: Sendable {
        let bytes: [UInt8]
        let type: String
    }

    private let files: [String: File]
    let version: String

    init() {
        var files: [String: File] = [:]
        var everything: [UInt8] = []
        for index in 0..<simulator_files_count() {
            guard let file = simulator_files_at(index)?.pointee else { continue }
            let name = String(cString: file.name)
            let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
            files[name] = File(bytes: bytes, type: Self.type(of: name))
            everything += Array(name.utf8) + [0] + SHA256.hash(bytes)
        }
        self.files = files
        version = Base64URL.encode(Array(SHA256.hash(everything).prefix(9)))
    }

    subscript(name: String) -> File? { files[name] }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "application/octet-stream"
        }
    }
}
