/// The head of an answer as HTTP/1.1 writes it, and chunks. Without any output of its own.
enum HTTP1Writer {
    /// How the end of the body is told (RFC 9112 section 6).
    enum Framing: Equatable {
        /// No word about a body: 204, 304, or an answer to HEAD whose length is not known.
        case none
        case length(Int)
        case chunked
        /// The connection's end ends the body: HTTP/1.0 has no chunks.
        case untilClose
    }

    /// What the Connection field says; nothing where it would only repeat the default.
    enum Connection: Equatable {
        case unsaid
        case close
        case keepAlive
    }

    static func appendHead(
        to out: inout [UInt8], status: HTTPStatus, headers: HTTPHeaders, framing: Framing, connection: Connection,
        dateField: [UInt8], serverField: [UInt8]
    ) {
        appendStatusLine(to: &out, status)
        // Through a pointer, because a slice of an array costs a reference to it.
        headers.bytes.withUnsafeBufferPointer { bytes in
            for field in headers.fields where !belongsToEngine(field, headers) {
                out.append(
                    contentsOf: UnsafeBufferPointer(rebasing: bytes[Int(field.nameStart)..<Int(field.nameEnd)]))
                append(": ", to: &out)
                out.append(
                    contentsOf: UnsafeBufferPointer(rebasing: bytes[Int(field.valueStart)..<Int(field.valueEnd)]))
                append("\r\n", to: &out)
            }
        }
        switch framing {
        case .none, .untilClose: break
        case .length(let length):
            append("Content-Length: ", to: &out)
            appendDecimal(length, to: &out)
            append("\r\n", to: &out)
        case .chunked: append("Transfer-Encoding: chunked\r\n", to: &out)
        }
        switch connection {
        case .unsaid: break
        case .close: append("Connection: close\r\n", to: &out)
        case .keepAlive: append("Connection: keep-alive\r\n", to: &out)
        }
        out.append(contentsOf: dateField)
        out.append(contentsOf: serverField)
        out.append(13)
        out.append(10)
    }

    /// Fields the engine alone may set, because its framing depends on them.
    static func belongsToEngine(_ field: HTTPHeaders.Field, _ headers: HTTPHeaders) -> Bool {
        switch field.nameEnd - field.nameStart {
        case 4: headers.isNamed(field, "date")
        case 6: headers.isNamed(field, "server")
        case 7: headers.isNamed(field, "upgrade") || headers.isNamed(field, "trailer")
        case 10: headers.isNamed(field, "connection") || headers.isNamed(field, "keep-alive")
        case 14: headers.isNamed(field, "content-length")
        case 16: headers.isNamed(field, "proxy-connection")
        case 17: headers.isNamed(field, "transfer-encoding")
        default: false
        }
    }

    private static func appendStatusLine(to out: inout [UInt8], _ status: HTTPStatus) {
        if status.rawValue == 200 {
            append("HTTP/1.1 200 OK\r\n", to: &out)
            return
        }
        append("HTTP/1.1 ", to: &out)
        appendDecimal(status.rawValue, to: &out)
        out.append(32)
        out.append(contentsOf: status.reason.utf8)
        append("\r\n", to: &out)
    }

    static func appendChunk(_ bytes: [UInt8], to out: inout [UInt8]) {
        appendHexadecimal(bytes.count, to: &out)
        append("\r\n", to: &out)
        out.append(contentsOf: bytes)
        append("\r\n", to: &out)
    }

    static let lastChunk = Array("0\r\n\r\n".utf8)
    static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// For a client that cannot be served now, whatever it asked.
    static let busyAnswer = Array(
        """
        HTTP/1.1 503 Service Unavailable\r
        Content-Type: text/plain; charset=utf-8\r
        Content-Length: 55\r
        Retry-After: 5\r
        Connection: close\r
        \r
        There are too many connections. Try again in a moment.

        """.utf8)

    private static func append(_ text: StaticString, to out: inout [UInt8]) {
        out.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private static func appendDecimal(_ number: Int, to out: inout [UInt8]) {
        if number >= 10 { appendDecimal(number / 10, to: &out) }
        out.append(UInt8(truncatingIfNeeded: number % 10) + 0x30)
    }

    static func appendHexadecimal(_ number: Int, to out: inout [UInt8]) {
        if number >= 16 { appendHexadecimal(number / 16, to: &out) }
        let digit = UInt8(truncatingIfNeeded: number % 16)
        out.append(digit < 10 ? digit + 0x30 : digit + 0x57)
    }
}
