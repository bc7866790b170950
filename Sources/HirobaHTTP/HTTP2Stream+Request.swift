extension HTTP2Stream {
    /// Notes a field of the request's head. Past the limits it only counts.
    func addField(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, limits: HTTPLimits) {
        // RFC 9113 section 6.5.2: how SETTINGS_MAX_HEADER_LIST_SIZE counts.
        headBytes += name.count + value.count + 32
        headFields += 1
        if headBytes > limits.headBytes || headFields > limits.headFields + 4 { return }
        switch name.count {
        case 5 where name.elementsEqual(":path".utf8): path = Array(value)
        case 7 where name.elementsEqual(":method".utf8): method = Array(value)
        case 7 where name.elementsEqual(":scheme".utf8): break
        case 10 where name.elementsEqual(":authority".utf8): authority = Array(value)
        case 6 where name.elementsEqual("cookie".utf8):
            // Section 8.2.3: a cookie may come in pieces.
            if !cookie.isEmpty { cookie += "; ".utf8 }
            cookie += value
        default:
            if name.count == 14, name.elementsEqual("content-length".utf8) {
                // nghttp2 has checked it, and checks the body against it.
                contentLength = Int(String(decoding: value, as: UTF8.self))
            } else if name.count == 6, name.elementsEqual("expect".utf8) {
                expectsContinue = String(decoding: value, as: UTF8.self).lowercased() == "100-continue"
            }
            headers.add(name: name, value: value)
        }
    }

    /// Checks what nghttp2 leaves to us, and completes the headers: Host first among them, and one Cookie.
    func checkHead(_ limits: HTTPLimits) throws(HTTP1Refusal) {
        if headBytes > limits.headBytes || headFields > limits.headFields + 4 {
            throw HTTP1Refusal(.headerFieldsTooLarge, "The head of the request is too large.")
        }
        if path.count > limits.targetBytes { throw HTTP1Refusal(.uriTooLong, "The address is too long.") }
        guard !method.isEmpty, method.allSatisfy(HTTPSyntax.isTokenByte) else { throw .bad("The method is malformed.") }
        if method.elementsEqual("CONNECT".utf8) { throw HTTP1Refusal(.notImplemented, "This server is no proxy.") }
        let isAsterisk = path.elementsEqual("*".utf8) && method.elementsEqual("OPTIONS".utf8)
        guard path.first == UInt8(ascii: "/") || isAsterisk, path.allSatisfy(HTTPSyntax.isTargetByte) else {
            throw .bad("The path must begin with a slash and be visible ASCII.")
        }
        // Section 8.3.1: one authority, which Host must not contradict.
        let hosts = headers.values("host")
        var complete = HTTPHeaders()
        if let authority {
            guard hosts.allSatisfy({ $0.utf8.elementsEqual(authority) }) else {
                throw .bad("Host and :authority must be the same.")
            }
            headers.remove("host")
            complete.add(name: "host".utf8, value: authority)
        } else if hosts.count != 1 {
            throw .bad("There must be one Host.")
        }
        guard HTTPSyntax.isHost(authority ?? hosts.first.map { Array($0.utf8) } ?? []) else {
            throw .bad("There must be one Host, and a good one.")
        }
        for field in headers.fields {
            complete.add(
                name: headers.bytes[Int(field.nameStart)..<Int(field.nameEnd)],
                value: headers.bytes[Int(field.valueStart)..<Int(field.valueEnd)])
        }
        if !cookie.isEmpty { complete.add(name: "cookie".utf8, value: cookie) }
        headers = complete
    }
}
