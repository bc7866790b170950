internal import CWebFiles
internal import HirobaCrypto
internal import HirobaHTTP

/// The files that browsers fetch. Their address holds a hash of all of them, so that a browser may keep them for ever
/// and still never mixes two versions; modules and styles find each other by their plain names beside each other.
struct WebFiles: Sendable {
    struct File: Sendable {
        let bytes: [UInt8]
        let type: String
    }

    private let files: [String: File]
    /// Names this set of files.
    let version: String

    init() {
        var files: [String: File] = [:]
        var everything: [UInt8] = []
        for file in EmbeddedFile.all where file.folder == "site" {
            let bytes = file.bytes
            files[file.name] = File(bytes: bytes, type: Self.type(of: file.name))
            everything += Array(file.name.utf8) + [0] + SHA256.hash(bytes)
        }
        self.files = files
        self.version = Base64URL.encode(Array(SHA256.hash(everything).prefix(9)))
    }

    func address(_ name: StaticString) -> String { "/static/\(version)/\(name)" }

    func icon(_ name: StaticString) -> String { "/static/\(version)/icons.svg#\(name)" }

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

/// A file that was compiled into the program. Its bytes are copied only when asked for.
struct EmbeddedFile: Sendable {
    let folder: String
    let name: String
    private let index: Int

    static var all: [EmbeddedFile] {
        (0..<web_files_count()).compactMap { index in
            guard let file = web_files_at(index)?.pointee else { return nil }
            return EmbeddedFile(
                folder: String(cString: file.folder), name: String(cString: file.name), index: index)
        }
    }

    var bytes: [UInt8] {
        guard let file = web_files_at(index)?.pointee else { return [] }
        return Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }

    static func bytes(folder: String, name: String) -> [UInt8] {
        all.first { $0.folder == folder && $0.name == name }?.bytes ?? []
    }
}
