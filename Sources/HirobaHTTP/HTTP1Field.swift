// Imports nothing: part of what is fuzzed by itself.

/// One field line, in the head or in the trailers.
enum HTTP1Field {
    /// RFC 9112 section 5. `line` is without its CR LF.
    static func parse(
        _ line: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(HTTP1Refusal) -> HTTPHeaders.Field {
        // A line that begins with a blank goes on with the one before it: obs-fold, section 5.2, to be refused.
        if bytes[line.lowerBound] == 32 || bytes[line.lowerBound] == 9 {
            throw .bad("A field must not be folded over lines.")
        }
        var nameEnd = line.lowerBound
        while nameEnd < line.upperBound, HTTPSyntax.isTokenByte(bytes[nameEnd]) { nameEnd &+= 1 }
        // Section 5.1: no blank between name and colon; other programs would read another name.
        guard nameEnd > line.lowerBound, nameEnd < line.upperBound, bytes[nameEnd] == UInt8(ascii: ":") else {
            throw .bad("A field must begin with a name and, at once, a colon.")
        }
        var start = nameEnd + 1
        var end = line.upperBound
        while start < end, bytes[start] == 32 || bytes[start] == 9 { start &+= 1 }
        while end > start, bytes[end - 1] == 32 || bytes[end - 1] == 9 { end &-= 1 }
        var index = start
        while index < end {
            guard HTTPSyntax.isValueByte(bytes[index]) else { throw .bad("A field must not hold control characters.") }
            index &+= 1
        }
        return HTTPHeaders.Field(
            nameStart: UInt32(line.lowerBound), nameEnd: UInt32(nameEnd), valueStart: UInt32(start),
            valueEnd: UInt32(end))
    }
}

/// What the fields of a head say about the message itself and the connection.
struct HTTP1Facts {
    private var hosts = 0
    private var host = 0..<0
    private var contentLength: Int?
    private var codings = TransferCodings()
    private var says = (close: false, keepAlive: false)
    private(set) var expectsContinue = false

    /// Notes a field when it is one of the few that matter here.
    mutating func note(_ field: HTTPHeaders.Field, _ bytes: UnsafeBufferPointer<UInt8>) throws(HTTP1Refusal) {
        let name = UnsafeBufferPointer(rebasing: bytes[Int(field.nameStart)..<Int(field.nameEnd)])
        let value = Int(field.valueStart)..<Int(field.valueEnd)
        // Nearly every field of a browser is told apart by its length alone.
        switch name.count {
        case 4 where Self.isEqual(name, "host"):
            hosts += 1
            host = value
        case 6 where Self.isEqual(name, "expect"):
            // RFC 9110 section 10.1.1 knows one expectation.
            guard Self.isEqual(UnsafeBufferPointer(rebasing: bytes[value]), "100-continue") else {
                throw HTTP1Refusal(.expectationFailed, "The expectation is not known.")
            }
            expectsContinue = true
        case 10 where Self.isEqual(name, "connection"):
            for option in bytes[value].split(separator: UInt8(ascii: ",")) {
                let option = UnsafeBufferPointer(rebasing: Self.trimmed(option))
                if Self.isEqual(option, "close") { says.close = true }
                if Self.isEqual(option, "keep-alive") { says.keepAlive = true }
            }
        case 14 where Self.isEqual(name, "content-length"):
            // RFC 9110 section 8.6 lets a recipient refuse repeats, equal or not; a list of lengths is a repeat too.
            guard contentLength == nil, let length = Self.number(bytes[value]) else {
                throw .bad("Content-Length must be one number.")
            }
            contentLength = length
        case 17 where Self.isEqual(name, "transfer-encoding"):
            try codings.note(bytes[value])
        default:
            break
        }
    }

    /// RFC 9112 section 3.2: exactly one Host; HTTP/1.0 knew none.
    func checkHost(minorVersion: Int, _ bytes: UnsafeBufferPointer<UInt8>) throws(HTTP1Refusal) {
        if hosts == 0, minorVersion == 0 { return }
        guard hosts == 1, HTTPSyntax.isHost(bytes[host]) else { throw .bad("There must be one Host, and a good one.") }
    }

    /// RFC 9112 section 6.3.
    func framing(minorVersion: Int) throws(HTTP1Refusal) -> HTTP1Framing {
        guard codings.isPresent else {
            guard let contentLength, contentLength > 0 else { return .none }
            return .length(contentLength)
        }
        // Section 6.1: both together is how requests are smuggled, and HTTP/1.0 has no codings.
        if contentLength != nil { throw .bad("Content-Length and Transfer-Encoding must not come together.") }
        if minorVersion == 0 { throw .bad("HTTP/1.0 has no Transfer-Encoding.") }
        try codings.check()
        return .chunked
    }

    /// RFC 9112 section 9.3.
    func keepsAlive(minorVersion: Int) -> Bool {
        if says.close { return false }
        return minorVersion > 0 || says.keepAlive
    }

    /// The codings of all Transfer-Encoding fields, one after the other (RFC 9112 section 6.1).
    private struct TransferCodings {
        var isPresent = false
        private var isMalformed = false
        private var hasUnknown = false
        private var chunkedCount = 0
        private var endsWithChunked = false

        mutating func note(_ value: Slice<UnsafeBufferPointer<UInt8>>) throws(HTTP1Refusal) {
            isPresent = true
            for coding in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let coding = UnsafeBufferPointer(rebasing: HTTP1Facts.trimmed(coding))
                endsWithChunked = HTTP1Facts.isEqual(coding, "chunked")
                if endsWithChunked {
                    chunkedCount += 1
                } else if !coding.isEmpty, coding.allSatisfy(HTTPSyntax.isTokenByte) {
                    hasUnknown = true
                } else {
                    isMalformed = true
                }
            }
        }

        func check() throws(HTTP1Refusal) {
            // Section 6.3, rule 4: chunked once, and last; otherwise the end of the body cannot be known.
            if isMalformed || chunkedCount > 1 || (chunkedCount == 1 && !endsWithChunked) {
                throw .bad("Transfer-Encoding must end with chunked.")
            }
            if hasUnknown { throw HTTP1Refusal(.notImplemented, "The only known Transfer-Encoding is chunked.") }
        }
    }

    private static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard !bytes.isEmpty, bytes.count <= 19 else { return nil }
        var number = 0
        for byte in bytes {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (tens, isTooBig) = number.multipliedReportingOverflow(by: 10)
            let (sum, isBigger) = tens.addingReportingOverflow(Int(byte - 0x30))
            if isTooBig || isBigger { return nil }
            number = sum
        }
        return number
    }

    private static func isEqual(_ bytes: UnsafeBufferPointer<UInt8>, _ lowercase: StaticString) -> Bool {
        guard bytes.count == lowercase.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where HTTPSyntax.lowercased(bytes[index]) != lowercase.utf8Start[index] {
            return false
        }
        return true
    }

    private static func trimmed(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
        var bytes = bytes
        while let first = bytes.first, first == 32 || first == 9 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 32 || last == 9 { bytes = bytes.dropLast() }
        return bytes
    }
}
