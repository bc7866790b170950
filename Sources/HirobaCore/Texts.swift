/// Checks of what people write. Lengths are counted in Unicode scalars: the same on every client, unlike characters
/// as drawn, and kinder to Japanese than bytes.
enum Texts {
    /// One line, blanks around it removed.
    static func line(_ text: String, field: String, most: Int) throws(HirobaError) -> String {
        let line = trimmed(text)
        guard isVisible(line) else { throw missing(field) }
        try check(line, field: field, most: most)
        guard line.unicodeScalars.allSatisfy({ !isControl($0) && !isLineBreak($0) && !turnsText($0) }) else {
            throw .invalid(
                field, Sentence(en: "Only one line of text is possible here.", ja: "改行や制御文字は使えません。"))
        }
        return line
    }

    /// Any number of lines, kept as written.
    static func passage(_ text: String, field: String, most: Int, mayBeEmpty: Bool) throws(HirobaError) -> String {
        guard mayBeEmpty || isVisible(text) else { throw missing(field) }
        try check(text, field: field, most: most)
        guard text.unicodeScalars.allSatisfy({ !isControl($0) || $0 == "\n" || $0 == "\r" || $0 == "\t" }) else {
            throw .invalid(
                field, Sentence(en: "The text holds control characters.", ja: "制御文字は使えません。"))
        }
        return text
    }

    /// A note about a client, made harmless instead of refused.
    static func note(_ text: String, most: Int = 200) -> String? {
        let plain = trimmed(
            String(String.UnicodeScalarView(text.unicodeScalars.lazy.filter { !isControl($0) }.prefix(most))))
        return plain.isEmpty ? nil : plain
    }

    private static func check(_ text: String, field: String, most: Int) throws(HirobaError) {
        // Bytes first: they are known without walking through a text of a megabyte.
        guard text.utf8.count <= most * 4, text.unicodeScalars.count <= most else {
            throw .invalid(field, Sentence(en: "At most \(most) characters are possible.", ja: "\(most)文字までです。"))
        }
    }

    private static func missing(_ field: String) -> HirobaError {
        .invalid(field, Sentence(en: "Write something here.", ja: "入力してください。"))
    }

    /// C0, DEL and C1. NUL among them, which PostgreSQL cannot store.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    /// Whether anything of it would be seen: a title of nothing but joiners and blanks could not be pointed at.
    private static func isVisible(_ text: String) -> Bool {
        text.unicodeScalars.contains {
            !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint && !isControl($0)
                && $0 != "\u{2800}"
        }
    }

    private static func isLineBreak(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// Marks that turn the direction of what follows. In a name they would turn the text of the page around it.
    private static func turnsText(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}
