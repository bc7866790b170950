extension JSON {
    /// Reads one document: RFC 8259 to the letter, UTF-8 without a byte order mark, and nothing after the value.
    public static func parse(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSON {
        var reader = JSONReader(bytes, limits: limits)
        return try reader.readDocument()
    }

    /// Reads one document from any bytes.
    public static func parse(
        _ bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSON {
        try parse(Array(bytes), limits: limits)
    }

    /// Reads one document from a text.
    public static func parse(_ text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) -> JSON {
        try parse(Array(text.utf8), limits: limits)
    }
}

/// Reads a document from front to back, one function for each rule of the grammar.
struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var index = 0
    private var depth = 0

    init(_ bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func readDocument() throws(JSONError) -> JSON {
        guard bytes.count <= limits.bytes else { throw failure(.tooLong(limit: limits.bytes), at: limits.bytes) }
        skipWhitespace()
        let value = try readValue()
        skipWhitespace()
        guard index == bytes.count else { throw failure(.expected("the end of the document")) }
        return value
    }

    private mutating func readValue() throws(JSONError) -> JSON {
        guard index < bytes.count else { throw failure(.ended("a value")) }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try readObject()
        case UInt8(ascii: "["): return try readArray()
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try readNumber()
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        default: throw failure(.expected("a value"))
        }
    }

    private mutating func readWord(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let text = word.description
        guard bytes.count - index >= text.utf8.count, bytes[index...].starts(with: text.utf8) else {
            throw failure(.expected(text))
        }
        index += text.utf8.count
        return value
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= limits.depth else { throw failure(.tooDeep(limit: limits.depth)) }
        index += 1
        skipWhitespace()
    }

    private mutating func readArray() throws(JSONError) -> JSON {
        try enter()
        defer { depth -= 1 }
        var values: [JSON] = []
        if takes(UInt8(ascii: "]")) { return .array(values) }
        while true {
            values.append(try readValue())
            skipWhitespace()
            if takes(UInt8(ascii: ",")) {
                skipWhitespace()
            } else if takes(UInt8(ascii: "]")) {
                return .array(values)
            } else {
                throw missing("\",\" or \"]\"")
            }
        }
    }

    private mutating func readObject() throws(JSONError) -> JSON {
        try enter()
        defer { depth -= 1 }
        var object = JSONObject()
        if takes(UInt8(ascii: "}")) { return .object(object) }
        object.reserveCapacity(8)
        while true {
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { throw missing("a member's name") }
            let nameIndex = index
            let name = try readString()
            skipWhitespace()
            guard takes(UInt8(ascii: ":")) else { throw missing("\":\"") }
            skipWhitespace()
            let value = try readValue()
            if let position = object.position(of: name) {
                if case .refuse = limits.repeatedNames { throw failure(.repeatedName(name), at: nameIndex) }
                object.replaceValue(at: position, with: value)
            } else {
                object.append(name, value)
            }
            skipWhitespace()
            if takes(UInt8(ascii: ",")) {
                skipWhitespace()
            } else if takes(UInt8(ascii: "}")) {
                return .object(object)
            } else {
                throw missing("\",\" or \"}\"")
            }
        }
    }

    // MARK: Numbers

    private mutating func readNumber() throws(JSONError) -> JSON {
        let start = index
        let isNegative = takes(UInt8(ascii: "-"))
        let firstDigit = index
        var whole: UInt64 = 0
        var overflows = false
        while let digit = digit() {
            let (product, first) = whole.multipliedReportingOverflow(by: 10)
            let (sum, second) = product.addingReportingOverflow(UInt64(digit))
            overflows = overflows || first || second
            whole = sum
            index += 1
        }
        guard index > firstDigit else { throw missing("a digit") }
        guard bytes[firstDigit] != UInt8(ascii: "0") || index == firstDigit + 1 else {
            throw failure(.expected("a number without leading zeros"), at: firstDigit)
        }
        var isWhole = true
        if takes(UInt8(ascii: ".")) {
            isWhole = false
            try skipDigits()
        }
        if takes(UInt8(ascii: "e")) || takes(UInt8(ascii: "E")) {
            isWhole = false
            _ = takes(UInt8(ascii: "+")) || takes(UInt8(ascii: "-"))
            try skipDigits()
        }
        if isWhole, !overflows {
            if !isNegative, whole <= UInt64(Int64.max) { return .integer(Int64(whole)) }
            // -0 is not a whole number of Int64, and its sign is to be kept.
            if isNegative, whole > 0, whole <= Int64.min.magnitude {
                return .integer(Int64(truncatingIfNeeded: 0 &- whole))
            }
        }
        return .number(JSONNumber(checked: String(decoding: bytes[start..<index], as: UTF8.self)))
    }

    private func digit() -> UInt8? {
        guard index < bytes.count else { return nil }
        let value = bytes[index] &- UInt8(ascii: "0")
        return value <= 9 ? value : nil
    }

    private mutating func skipDigits() throws(JSONError) {
        guard digit() != nil else { throw missing("a digit") }
        while digit() != nil { index += 1 }
    }

    // MARK: Texts

    private mutating func readString() throws(JSONError) -> String {
        index += 1
        let start = index
        // Most texts hold no escape: they are checked in place and copied once.
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                let text = String(decoding: bytes[start..<index], as: UTF8.self)
                index += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try readEscapedString(from: start) }
            try stepOverScalar(byte)
        }
        throw failure(.ended("the end of a text"))
    }

    private mutating func readEscapedString(from start: Int) throws(JSONError) -> String {
        var text = Array(bytes[start..<index])
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                index += 1
                return String(decoding: text, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\") {
                try readEscape(into: &text)
            } else {
                let scalarStart = index
                try stepOverScalar(byte)
                text.append(contentsOf: bytes[scalarStart..<index])
            }
        }
        throw failure(.ended("the end of a text"))
    }

    /// Steps over one scalar in UTF-8: the shortest form only, no surrogates, nothing above U+10FFFF.
    private mutating func stepOverScalar(_ first: UInt8) throws(JSONError) {
        switch first {
        case 0x20...0x7F: index += 1
        case 0x00..<0x20: throw failure(.controlCharacter)
        case 0xC2...0xDF: try stepOver(0x80...0xBF, following: 0)
        case 0xE0: try stepOver(0xA0...0xBF, following: 1)
        case 0xED: try stepOver(0x80...0x9F, following: 1)
        case 0xE1...0xEF: try stepOver(0x80...0xBF, following: 1)
        case 0xF0: try stepOver(0x90...0xBF, following: 2)
        case 0xF1...0xF3: try stepOver(0x80...0xBF, following: 2)
        case 0xF4: try stepOver(0x80...0x8F, following: 2)
        default: throw failure(.notUTF8)
        }
    }

    private mutating func stepOver(_ second: ClosedRange<UInt8>, following: Int) throws(JSONError) {
        guard index + 1 + following < bytes.count, second.contains(bytes[index + 1]) else { throw failure(.notUTF8) }
        for offset in 0..<following where bytes[index + 2 + offset] & 0xC0 != 0x80 { throw failure(.notUTF8) }
        index += 2 + following
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        let start = index
        index += 1
        guard index < bytes.count else { throw failure(.ended("an escape")) }
        let letter = bytes[index]
        index += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(letter)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var value = try readHex()
            if (0xD800...0xDBFF).contains(value) {
                guard takes(UInt8(ascii: "\\")), takes(UInt8(ascii: "u")) else {
                    throw failure(.loneSurrogate, at: start)
                }
                let low = try readHex()
                guard (0xDC00...0xDFFF).contains(low) else { throw failure(.loneSurrogate, at: start) }
                value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(value) else { throw failure(.loneSurrogate, at: start) }
            text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default: throw failure(.expected("one of \"\\/bfnrtu after a backslash"), at: index - 1)
        }
    }

    private mutating func readHex() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count else { throw failure(.ended("a hexadecimal digit")) }
            let byte = bytes[index]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw failure(.expected("a hexadecimal digit"))
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    // MARK: Steps

    private mutating func skipWhitespace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    /// Steps over that byte if it comes next.
    private mutating func takes(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private func missing(_ wanted: String) -> JSONError {
        failure(index < bytes.count ? .expected(wanted) : .ended(wanted))
    }

    private func failure(_ problem: JSONError.Problem, at offset: Int? = nil) -> JSONError {
        let offset = offset ?? index
        let line = 1 + bytes.prefix(offset).count { $0 == 0x0A }
        return JSONError(problem: problem, offset: offset, line: line)
    }
}
