/// The kinds of picture that are taken in, told by their first bytes; a name or a declared type proves nothing.
package enum PictureFormat: UInt8, Sendable, CaseIterable {
    case jpeg = 1
    case png, webp, gif
    /// Read only: browsers do not show them all, so they become JPEG.
    case heic, avif, tiff

    package init?(of bytes: [UInt8]) {
        func has(_ text: String, at start: Int) -> Bool { bytes.dropFirst(start).starts(with: text.utf8) }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: PNG.signature) {
            self = .png
        } else if has("GIF87a", at: 0) || has("GIF89a", at: 0) {
            self = .gif
        } else if has("RIFF", at: 0), has("WEBP", at: 8) {
            self = .webp
        } else if has("ftyp", at: 4) {
            switch String(decoding: bytes.dropFirst(8).prefix(4), as: UTF8.self) {
            case "avif", "avis": self = .avif
            case "heic", "heix", "heim", "heis", "mif1", "msf1": self = .heic
            default: return nil
            }
        } else if bytes.starts(with: [0x49, 0x49, 0x2A, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 0x2A]) {
            self = .tiff
        } else {
            return nil
        }
    }

    /// As in `Content-Type`.
    package var mediaType: String {
        switch self {
        case .jpeg: "image/jpeg"
        case .png: "image/png"
        case .webp: "image/webp"
        case .gif: "image/gif"
        case .heic: "image/heic"
        case .avif: "image/avif"
        case .tiff: "image/tiff"
        }
    }
}
