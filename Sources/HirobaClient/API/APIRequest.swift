#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import HirobaContract

/// A request before it has a base address.
public struct APIRequest: Sendable {
    /// The method.
    public var method: APIMethod
    /// The path below the base address, escaped, without a slash in front.
    public var path: String
    /// The query without its question mark, escaped.
    public var query: String?
    /// The header fields.
    public var headers = HeaderFields()
    /// The body.
    public var body: RequestBody = .none
    /// Told how far the body has gone.
    public var uploadProgress: UploadProgress?

    /// A request.
    public init(method: APIMethod, path: String, query: String? = nil) {
        self.method = method
        self.path = path
        self.query = query
    }

    /// Adds a value to the query; both texts are escaped here.
    public mutating func addQuery(_ name: String, _ value: String) {
        let item = "\(URIText.escaped(name))=\(URIText.escaped(value))"
        query = query.map { "\($0)&\(item)" } ?? item
    }

    /// The whole address; nil when the base address is none of HTTP.
    func url(below base: URL) -> URL? {
        guard let scheme = base.scheme?.lowercased(), scheme == "https" || scheme == "http", base.host != nil else {
            return nil
        }
        // Put together as text, because Foundation's builders escape again what is escaped already.
        var text = base.absoluteString
        if let end = text.firstIndex(where: { $0 == "?" || $0 == "#" }) { text = String(text[..<end]) }
        if !text.hasSuffix("/") { text += "/" }
        return URL(string: text + path + (query.map { "?\($0)" } ?? ""))
    }
}

/// What is sent after the header.
public enum RequestBody: Sendable {
    /// Nothing.
    case none
    /// Bytes.
    case bytes([UInt8])
    /// The content of a file, read while it is sent.
    case file(URL)
}

/// Header fields: names without regard to case, in order, repeated ones kept.
public struct HeaderFields: Sendable {
    private var fields: [(name: String, value: String)] = []

    /// No fields.
    public init() {}

    /// Fields in order.
    public init(_ fields: some Sequence<(String, String)>) { self.fields = fields.map { ($0, $1) } }

    /// The first value of a name. Setting replaces all values of that name, setting nil removes them.
    public subscript(_ name: String) -> String? {
        get {
            let wanted = name.lowercased()
            return fields.first { $0.name.lowercased() == wanted }?.value
        }
        set {
            let wanted = name.lowercased()
            fields.removeAll { $0.name.lowercased() == wanted }
            if let newValue { fields.append((name, newValue)) }
        }
    }
}

extension HeaderFields: Sequence {
    /// The fields in order.
    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { fields.makeIterator() }
}
