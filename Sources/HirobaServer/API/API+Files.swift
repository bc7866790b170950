import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaJSON

extension API {
    /// `POST /files`: the body goes to the blob store as it comes; it is never held whole.
    func serveUpload(on routes: inout Routes) {
        let limit = options.uploadBytes
        on(UploadFile.self, &routes) { request, _ in
            let call = try CallCoding.decode(UploadFile.self, pathParameters: [:], query: request.query, body: [])
            // Said at once when it is announced: nobody should send 2 GB to hear it at the end.
            if let length = request.body.length, length > limit { throw Refusal.bodyTooLarge(limit: limit) }
            _ = call
            let file = try await core.files.upload(
                request.body, declaredType: request.headers["Content-Type"], by: caller(of: request))
            return try json(.created, file)
        }
    }

    /// `GET /files/{file}`: whole, a part, or the news that the client has it already.
    func serveDownload(on routes: inout Routes) {
        on(DownloadFile.self, &routes) { request, parameters in
            let call = try CallCoding.decode(
                DownloadFile.self, path: { parameters[$0] }, query: request.query, body: [])
            let content = try await core.files.open(call, by: caller(of: request))
            return FileAnswer.response(for: content, to: request)
        }
    }
}

/// A stored file as an answer, for every surface that hands files out.
enum FileAnswer {
    /// Nothing that somebody uploaded can run in a browser on our address: the type is ours and not to be guessed, what
    /// is no picture is a download, and should a browser show it after all, it does so in a sandbox without rights.
    static func response(for content: FileContent, to request: HTTPRequest) -> HTTPResponse {
        var headers = HTTPHeaders()
        let etag = "\"\(content.etag)\""
        headers.add("ETag", etag)
        // The bytes behind an id never change, but they can be deleted, and access can be taken away.
        headers.add("Cache-Control", "private, max-age=86400")
        headers.add("X-Content-Type-Options", "nosniff")
        headers.add("Content-Security-Policy", "sandbox; default-src 'none'")
        if let known = request.headers["If-None-Match"], matches(known, etag) {
            return HTTPResponse(.notModified, headers: headers)
        }
        headers.add("Content-Type", content.type)
        headers.add("Content-Disposition", content.isPicture ? "inline" : "attachment")
        headers.add("Accept-Ranges", "bytes")

        // A range counts for GET only, and with If-Range only while the client's part is of the same bytes.
        let isCurrent = request.headers["If-Range"].map { $0 == etag } ?? true
        if request.method == .get, isCurrent, let field = request.headers["Range"] {
            switch ByteRange(field, size: content.size) {
            case .part(let offset, let length):
                headers.add("Content-Range", "bytes \(offset)-\(offset + length - 1)/\(content.size)")
                return HTTPResponse(
                    .partialContent, headers: headers, body: body(of: content, offset: offset, length: length))
            case .outside:
                return HTTPResponse(
                    .rangeNotSatisfiable,
                    headers: ["Content-Range": "bytes */\(content.size)", "X-Content-Type-Options": "nosniff"])
            case .ignored: break
            }
        }
        return HTTPResponse(.ok, headers: headers, body: body(of: content, offset: 0, length: content.size))
    }

    private static func body(of content: FileContent, offset: Int, length: Int) -> HTTPResponse.Body {
        switch content.source {
        case .path(let path): .file(path: path, offset: offset, length: length)
        case .bytes(let bytes):
            .bytes(offset == 0 && length == bytes.count ? bytes : Array(bytes.dropFirst(offset).prefix(length)))
        }
    }

    /// `If-None-Match` compares weakly (RFC 9110 section 13.1.2).
    private static func matches(_ field: String, _ etag: String) -> Bool {
        if field == etag { return true }
        return field.split(separator: ",").contains { item in
            let item = trimmingBlanks(of: item)
            return item == "*" || item == etag || (item.hasPrefix("W/") && item.dropFirst(2) == etag)
        }
    }
}

/// What a `Range` field asks of a file (RFC 9110 section 14.1.2).
enum ByteRange: Equatable {
    case part(offset: Int, length: Int)
    /// Begins behind the end: 416.
    case outside
    /// Not in bytes, several parts, or not well formed: a server may send the whole, and we do.
    case ignored

    init(_ field: String, size: Int) {
        let field = trimmingBlanks(of: field)
        guard field.hasPrefix("bytes=") else {
            self = .ignored
            return
        }
        let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else {
            self = .ignored
            return
        }
        switch (first, last) {
        case (nil, nil): self = .ignored
        case (nil, let suffix?):
            let length = min(suffix, size)
            self = length == 0 ? .outside : .part(offset: size - length, length: length)
        case (let offset?, let last):
            if let last, last < offset {
                self = .ignored
            } else if offset >= size {
                self = .outside
            } else {
                self = .part(offset: offset, length: min(last ?? size, size - 1) - offset + 1)
            }
        }
    }

    /// nil for what is no number at all; `.some(nil)` for nothing.
    private static func number(_ text: Substring) -> Int?? {
        let text = trimmingBlanks(of: text)
        if text.isEmpty { return .some(nil) }
        guard text.utf8.count <= 15, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
