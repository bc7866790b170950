// Imports nothing: part of what is fuzzed by itself.

/// Reads a request line and its fields, a line at a time, from bytes that may arrive one by one.
///
/// It takes only what RFC 9112 says a client must send. Every leniency of section 2.2 and the like is left out, because
/// two programs that are lenient in different ways can be made to disagree about where a request ends.
struct HTTP1HeadParser {
    private let limits: HTTP1Reader.Limits

    /// How far the search for the end of a line has come, from the beginning of the head.
    private var scanned = 0
    private var lineStart = 0
    private var hasSkippedLine = false
    private var hasRequestLine = false

    private var method = 0..<0
    private var target = 0..<0
    private var minorVersion = 1
    private var fields: [HTTPHeaders.Field] = []
    private var facts = HTTP1Facts()

    init(limits: HTTP1Reader.Limits) { self.limits = limits }

    /// Reads on. `bytes` begin at the head's first byte and hold everything that was there before.
    /// - Returns: the length of the head once it is complete.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(HTTP1Refusal) -> Int? {
        while true {
            var end = scanned
            while end < bytes.count, bytes[end] != 10 { end &+= 1 }
            scanned = end
            guard end < bytes.count else {
                try checkUnfinishedLine(bytes)
                return nil
            }
            scanned = end + 1
            // Section 2.2 lets a recipient take a bare LF; we do not.
            guard end > lineStart, bytes[end - 1] == 13 else { throw .bad("A line must end with CR and LF.") }
            let line = lineStart..<end - 1
            lineStart = end + 1
            if !hasRequestLine {
                try readFirstLine(line, bytes)
                continue
            }
            if lineStart > limits.headBytes { throw Self.headTooLarge }
            if line.isEmpty { return lineStart }
            try readField(line, bytes)
        }
    }

    private static let headTooLarge = HTTP1Refusal(.headerFieldsTooLarge, "The head of the request is too large.")
    private static let targetTooLong = HTTP1Refusal(.uriTooLong, "The address is too long.")

    /// What never ends must not be waited for.
    private func checkUnfinishedLine(_ bytes: UnsafeBufferPointer<UInt8>) throws(HTTP1Refusal) {
        if hasRequestLine {
            if bytes.count > limits.headBytes { throw Self.headTooLarge }
        } else if bytes.count > lineStart {
            guard HTTPSyntax.isTokenByte(bytes[lineStart]) || bytes[lineStart] == 13 else {
                throw .bad("This is not an HTTP request.")
            }
            if bytes.count - lineStart > limits.targetBytes + 64 { throw Self.targetTooLong }
        }
    }

    private mutating func readFirstLine(
        _ line: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(HTTP1Refusal) {
        if line.isEmpty {
            // One empty line before the request is ignored (section 2.2): old clients send it after a body.
            guard !hasSkippedLine else { throw .bad("A request must not begin with empty lines.") }
            hasSkippedLine = true
            return
        }
        try readRequestLine(line, bytes)
        hasRequestLine = true
        fields.reserveCapacity(16)
    }

    /// `method SP request-target SP HTTP-version`, RFC 9112 section 3.
    private mutating func readRequestLine(
        _ line: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(HTTP1Refusal) {
        var index = line.lowerBound
        while index < line.upperBound, HTTPSyntax.isTokenByte(bytes[index]) { index &+= 1 }
        method = line.lowerBound..<index
        guard !method.isEmpty, index < line.upperBound, bytes[index] == 32 else {
            throw .bad("The request line must begin with a method and one blank.")
        }
        if method.count > 32 { throw HTTP1Refusal(.notImplemented, "The method is not known.") }

        let start = index + 1
        index = start
        while index < line.upperBound, HTTPSyntax.isTargetByte(bytes[index]) { index &+= 1 }
        target = start..<index
        if target.count > limits.targetBytes { throw Self.targetTooLong }
        guard !target.isEmpty, index < line.upperBound, bytes[index] == 32 else {
            throw .bad("The request line must hold a target of visible ASCII without a fragment, and a version.")
        }
        try readVersion(index + 1..<line.upperBound, bytes)
    }

    /// `HTTP/1.1`, case-sensitive, RFC 9112 section 2.3.
    private mutating func readVersion(
        _ version: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(HTTP1Refusal) {
        let start = version.lowerBound
        guard version.count == 8,
            bytes[start] == UInt8(ascii: "H"), bytes[start + 1] == UInt8(ascii: "T"),
            bytes[start + 2] == UInt8(ascii: "T"), bytes[start + 3] == UInt8(ascii: "P"),
            bytes[start + 4] == UInt8(ascii: "/"), bytes[start + 6] == UInt8(ascii: "."),
            (0x30...0x39).contains(bytes[start + 5]), (0x30...0x39).contains(bytes[start + 7])
        else { throw .bad("The request line must end with the version, such as HTTP/1.1.") }
        guard bytes[start + 5] == UInt8(ascii: "1") else {
            throw HTTP1Refusal(.versionNotSupported, "This server speaks HTTP/1.1 here.")
        }
        minorVersion = bytes[start + 7] == UInt8(ascii: "0") ? 0 : 1
    }

    /// `field-name ":" OWS field-value OWS`, RFC 9112 section 5.
    private mutating func readField(_ line: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>) throws(HTTP1Refusal) {
        let field = try HTTP1Field.parse(line, bytes)
        if fields.count == limits.headFields { throw HTTP1Refusal(.headerFieldsTooLarge, "There are too many fields.") }
        fields.append(field)
        try facts.note(field, bytes)
    }

    /// The head as a value, after `read` has told its length.
    mutating func finish(_ bytes: UnsafeBufferPointer<UInt8>, taking headers: [UInt8]) throws(HTTP1Refusal) -> HTTP1Head
    {
        let method = UnsafeBufferPointer(rebasing: bytes[method])
        let target = UnsafeBufferPointer(rebasing: bytes[target])
        let path = try checkTarget(target, method)
        try facts.checkHost(minorVersion: minorVersion, bytes)
        var head = HTTP1Head(
            method: HTTPMethod(String(decoding: method, as: UTF8.self)),
            target: String(decoding: target, as: UTF8.self), pathStart: path.lowerBound, pathEnd: path.upperBound,
            headers: HTTPHeaders(bytes: headers, fields: fields), minorVersion: minorVersion,
            framing: try facts.framing(minorVersion: minorVersion),
            keepsAlive: facts.keepsAlive(minorVersion: minorVersion),
            expectsContinue: facts.expectsContinue && minorVersion > 0)
        if path.lowerBound > 0, let authority = HTTPTarget.absoluteAuthority(in: target) {
            // The authority of an absolute target is the host, whatever the Host field says (section 3.2.2).
            head.headers["Host"] = String(decoding: target[authority], as: UTF8.self)
        }
        return head
    }

    /// The forms of RFC 9112 section 3.2.
    /// - Returns: where the path lies in the target.
    private func checkTarget(
        _ target: UnsafeBufferPointer<UInt8>, _ method: UnsafeBufferPointer<UInt8>
    ) throws(HTTP1Refusal) -> Range<Int> {
        if method.elementsEqual("CONNECT".utf8) {
            throw HTTP1Refusal(.notImplemented, "This server is no proxy.")
        }
        if target[0] == UInt8(ascii: "/") { return 0..<HTTPTarget.pathEnd(in: target, from: 0) }
        if target.count == 1, target[0] == UInt8(ascii: "*") {
            // Section 3.2.4.
            guard method.elementsEqual("OPTIONS".utf8) else { throw .bad("The target * is for OPTIONS only.") }
            return 0..<1
        }
        guard let authority = HTTPTarget.absoluteAuthority(in: target), HTTPSyntax.isHost(target[authority]) else {
            throw .bad("The target must be a path or an http address.")
        }
        return authority.upperBound..<HTTPTarget.pathEnd(in: target, from: authority.upperBound)
    }
}
