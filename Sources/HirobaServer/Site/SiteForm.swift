internal import HirobaCore
internal import HirobaContract
internal import HirobaHTTP

/// The fields of a form that was sent.
struct SiteForm: Sendable {
    private(set) var fields: [String: String] = [:]

    /// The field's text, with the line ends that browsers send turned into ours; empty when it is absent.
    subscript(name: String) -> String {
        guard let text = fields[name], text.utf8.contains(13) else { return fields[name] ?? "" }
        return text.replacing("\r\n", with: "\n")
    }

    /// Bytes of one field: 20,000 characters of the widest kind, escaped. More is told apart by the core's own rule.
    static let fieldBytes = 256 << 10
    private static let fieldCount = 32

    mutating func set(_ name: String, _ text: String) { if fields[name] == nil { fields[name] = text } }

    /// Reads a whole `application/x-www-form-urlencoded` body.
    init(urlencoded request: HTTPRequest) async throws {
        let type = HeaderParameters.parse(request.headers["Content-Type"] ?? "").value
        guard type == "application/x-www-form-urlencoded" else { throw MultipartError.notMultipart }
        let bytes: [UInt8]
        do {
            bytes = try await request.body.collect(upTo: Self.fieldBytes)
        } catch HTTPBodyError.tooLarge {
            throw MultipartError.fieldTooLong("")
        }
        let pairs = bytes.split(
            separator: UInt8(ascii: "&"), maxSplits: Self.fieldCount, omittingEmptySubsequences: true)
        for pair in pairs {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(halves[0]), let value = Self.decoded(halves.count > 1 ? halves[1] : []) else {
                throw MultipartError.malformed("a field that is not UTF-8")
            }
            set(name, value)
        }
    }

    init() {}

    private static func decoded(_ bytes: some Collection<UInt8>) -> String? {
        PercentCoding.decode(bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
    }
}

extension HTTPRequest {
    /// A parameter of the query, decoded; `nil` when it is absent, empty or not text.
    func queryValue(_ name: String) -> String? {
        for pair in (query ?? "").split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, halves[0] == name else { continue }
            return PercentCoding.decode(halves[1].utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
        }
        return nil
    }

    /// The request comes from one of our scripts, which wants data instead of a page.
    var wantsJSON: Bool { HeaderParameters.parse(headers["Accept"] ?? "").value == "application/json" }
}
