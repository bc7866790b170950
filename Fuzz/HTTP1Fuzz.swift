// Compiled together with those files of Sources/HirobaHTTP that import nothing, as one module.

/// What a reader made of a stream of bytes.
private struct Reading: Equatable {
    struct Request: Equatable {
        var method: String
        var target: String
        var fields: [String]
        var body: [UInt8] = []
        var isWhole = false
    }
    var requests: [Request] = []
    var refusal: HTTPStatus?

    /// The same, but that more of a body may have been handed over before its fault was met.
    func agrees(with other: Reading) -> Bool {
        guard refusal == other.refusal, requests.count == other.requests.count else { return false }
        return zip(requests, other.requests).allSatisfy { mine, theirs in
            if mine == theirs { return true }
            var (mine, theirs) = (mine, theirs)
            guard refusal != nil, !mine.isWhole else { return false }
            let common = min(mine.body.count, theirs.body.count)
            mine.body.removeLast(mine.body.count - common)
            theirs.body.removeLast(theirs.body.count - common)
            return mine == theirs
        }
    }
}

private func read(_ pieces: some Sequence<ArraySlice<UInt8>>, bodyPiece: Int) -> Reading {
    var reader = HTTP1Reader(limits: HTTP1Reader.Limits())
    var reading = Reading()
    var isInBody = false
    do {
        for piece in pieces {
            reader.receive(Array(piece))
            next: while true {
                if !isInBody {
                    guard let head = try reader.readHead() else { break }
                    check(head)
                    reading.requests.append(
                        Reading.Request(
                            method: head.method.rawValue, target: head.target,
                            fields: head.headers.map { "\($0.name): \($0.value)" }))
                    isInBody = true
                }
                let last = reading.requests.count - 1
                switch try reader.readBody(atMost: bodyPiece) {
                case .bytes(let bytes):
                    guard !bytes.isEmpty, bytes.count <= bodyPiece else {
                        fatalError("a piece of \(bytes.count) bytes")
                    }
                    reading.requests[last].body += bytes
                case .needsMore: break next
                case .end:
                    reading.requests[last].isWhole = true
                    isInBody = false
                }
            }
        }
    } catch {
        reading.refusal = error.status
    }
    return reading
}

/// What must hold for every head that is accepted, whatever the reader thinks of it.
private func check(_ head: HTTP1Head) {
    let fields = head.headers.map { (name: $0.name.lowercased(), value: $0.value) }
    func count(_ name: String) -> Int { fields.count { $0.name == name } }
    guard count("host") == 1 || (count("host") == 0 && head.minorVersion == 0) else { fatalError("not one Host") }
    if count("transfer-encoding") > 0 {
        guard head.framing == .chunked, count("content-length") == 0 else { fatalError("two kinds of framing") }
    }
    if count("content-length") == 0 && count("transfer-encoding") == 0 {
        guard head.framing == .none else { fatalError("a body out of nowhere") }
    }
    guard fields.count <= 100 else { fatalError("\(fields.count) fields") }
    for field in fields {
        guard !field.name.isEmpty, !field.value.utf8.contains(where: { ($0 < 32 && $0 != 9) || $0 == 127 }) else {
            fatalError("a field with control bytes")
        }
    }
    guard head.target.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else { fatalError("a target with blanks") }
    guard head.pathStart <= head.pathEnd, head.pathEnd <= head.target.utf8.count else { fatalError("a path outside") }
}

/// The first two bytes say how the others are cut into pieces: that must make no difference.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 2 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    let stream = bytes[2...]

    let whole = read([stream], bodyPiece: 65_536)
    let size = Int(bytes[0]) + 1
    let pieces = stride(from: stream.startIndex, to: stream.endIndex, by: size).map {
        stream[$0..<min($0 + size, stream.endIndex)]
    }
    let cut = read(pieces, bodyPiece: Int(bytes[1]) + 1)
    guard whole.agrees(with: cut) else { fatalError("whole: \(whole), cut: \(cut)") }
    return 0
}
