import Testing

@testable import HirobaHTTP

@Suite struct HTTP1WriterTests {
    private func head(
        _ status: HTTPStatus, _ headers: HTTPHeaders, _ framing: HTTP1Writer.Framing,
        _ connection: HTTP1Writer.Connection = .unsaid
    ) -> String {
        var out: [UInt8] = []
        HTTP1Writer.appendHead(
            to: &out, status: status, headers: headers, framing: framing, connection: connection,
            dateField: Array("Date: now\r\n".utf8), serverField: [])
        return String(decoding: out, as: UTF8.self)
    }

    @Test("a head has its status, its fields and its framing")
    func heads() {
        #expect(
            head(.ok, ["Content-Type": "text/plain"], .length(1204))
                == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1204\r\nDate: now\r\n\r\n")
        #expect(
            head(.notFound, [:], .chunked, .close)
                == "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nDate: now\r\n\r\n")
        #expect(head(HTTPStatus(299), [:], .none) == "HTTP/1.1 299 \r\nDate: now\r\n\r\n")
        #expect(
            head(.ok, [:], .length(0), .keepAlive)
                == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\nDate: now\r\n\r\n")
    }

    @Test("what a handler says about framing is left out")
    func framing() {
        let headers: HTTPHeaders = [
            "content-length": "7", "Transfer-Encoding": "gzip", "DATE": "x", "Connection": "upgrade", "X-Kept": "y",
        ]
        #expect(
            head(.ok, headers, .length(0)) == "HTTP/1.1 200 OK\r\nX-Kept: y\r\nContent-Length: 0\r\nDate: now\r\n\r\n")
    }

    @Test("a chunk tells its length in hexadecimal digits")
    func chunks() {
        var out: [UInt8] = []
        HTTP1Writer.appendChunk(Array(repeating: 120, count: 171), to: &out)
        #expect(String(decoding: out, as: UTF8.self) == "ab\r\n" + String(repeating: "x", count: 171) + "\r\n")
    }

    @Test("the answer to a client too many is well formed")
    func busy() {
        let text = String(decoding: HTTP1Writer.busyAnswer, as: UTF8.self)
        let body = text[text.range(of: "\r\n\r\n").upperBound...]
        #expect(text.contains("Content-Length: \(body.utf8.count)\r\n"))
        #expect(text.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    }
}

extension String {
    fileprivate func range(of part: String) -> Range<Index> {
        firstRange(of: part) ?? endIndex..<endIndex
    }
}
