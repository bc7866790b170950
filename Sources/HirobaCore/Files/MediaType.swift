/// What a file is, told by its first bytes: what the sender says about it is only a hint.
enum MediaType {
    /// What everything is that is no picture: it is kept and handed out as bytes, and no browser runs or shows it.
    static let bytes = "application/octet-stream"

    /// How many bytes from the start `looksLikePicture` wants to see.
    static let headLength = 32

    /// Whether the bytes begin like a picture of a kind that can be read. Whether they are one is for the decoder to say.
    static func looksLikePicture(_ head: some Collection<UInt8>) -> Bool {
        let head = Array(head.prefix(headLength))
        func has(_ text: String, at offset: Int) -> Bool {
            head.dropFirst(offset).prefix(text.utf8.count).elementsEqual(text.utf8)
        }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return true }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return true }
        if has("GIF87a", at: 0) || has("GIF89a", at: 0) { return true }
        if has("RIFF", at: 0) && has("WEBP", at: 8) { return true }
        if head.starts(with: [0x49, 0x49, 0x2A, 0x00]) || head.starts(with: [0x4D, 0x4D, 0x00, 0x2A]) { return true }
        // HEIC and AVIF are ISO media files; films are too, and are told apart by their brand.
        return has("ftyp", at: 4)
            && ["heic", "heix", "heim", "heis", "mif1", "msf1", "avif", "avis"].contains { has($0, at: 8) }
    }

    /// Whether the sender says it is a picture.
    static func claimsPicture(_ declared: String?) -> Bool { declared?.lowercased().hasPrefix("image/") ?? false }
}
