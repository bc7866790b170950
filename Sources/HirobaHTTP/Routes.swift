/// Which handler answers which method and path.
///
/// A template is made of segments: `/topics/{topic}/comments`. `{name}` stands for one segment that is not empty;
/// `{name...}`, only at the end, for the rest. A literal segment wins over `{name}`, which wins over `{name...}`, whatever
/// the order of registration. Segments are compared and handed over percent-decoded, so that `%2F` is a character of a
/// segment and no separator. `/topics/` is not `/topics`.
package struct Routes: Sendable {
    package typealias Handler = @Sendable (HTTPRequest, PathParameters) async throws -> HTTPResponse

    private struct Route: Sendable {
        var method: HTTPMethod
        var names: [String]
        var handler: Handler
    }

    private struct Node: Sendable {
        var literals: [String: Int] = [:]
        var parameter: Int?
        var rest: Int?
        var routes: [Route] = []
    }

    private var nodes = [Node()]

    /// Answers a path that no template matches.
    package var notFound: @Sendable (HTTPRequest) async throws -> HTTPResponse = { _ in
        .text(.notFound, "There is nothing here.\n")
    }
    /// Answers a path that exists, but not with this method. The Allow field is added when the answer has none.
    package var methodNotAllowed: @Sendable (HTTPRequest, [HTTPMethod]) async throws -> HTTPResponse = { _, _ in
        .text(.methodNotAllowed, "This cannot be done here.\n")
    }
    /// Answers a path whose percent escapes are not UTF-8 text.
    package var badPath: @Sendable (HTTPRequest) async throws -> HTTPResponse = { _ in
        .text(.badRequest, "The address is not well formed.\n")
    }

    /// Put around every handler that is added from now on, for what is the same everywhere, such as counting. It is told
    /// the method and the template.
    package var wrap: (@Sendable (HTTPMethod, String, @escaping Handler) -> Handler)?

    package init() {}

    /// Adds a route. GET answers HEAD too, unless HEAD has a route of its own; OPTIONS is answered by the table.
    ///
    /// A template that is not well formed, or the same method and template twice, is a mistake of the program and traps.
    package mutating func on(_ method: HTTPMethod, _ template: String, _ handler: @escaping Handler) {
        precondition(template.utf8.first == UInt8(ascii: "/"), "the template \(template) must begin with a slash")
        var names: [String] = []
        var node = 0
        let segments = template.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            guard segment.first == "{", segment.last == "}" else {
                node = child(of: node, \.literals[String(segment)])
                continue
            }
            var name = segment.dropFirst().dropLast()
            if name.hasSuffix("...") {
                precondition(index == segments.count - 1, "in \(template) the rest must come last")
                name = name.dropLast(3)
                node = child(of: node, \.rest)
            } else {
                node = child(of: node, \.parameter)
            }
            precondition(!name.isEmpty, "in \(template) a parameter has no name")
            names.append(String(name))
        }
        precondition(!nodes[node].routes.contains { $0.method == method }, "\(method) \(template) is there already")
        let wrapped = wrap?(method, template, handler) ?? handler
        nodes[node].routes.append(Route(method: method, names: names, handler: wrapped))
    }

    private mutating func child(of node: Int, _ link: WritableKeyPath<Node, Int?>) -> Int {
        if let existing = nodes[node][keyPath: link] { return existing }
        nodes.append(Node())
        nodes[node][keyPath: link] = nodes.count - 1
        return nodes.count - 1
    }

    package func handle(_ request: HTTPRequest) async throws -> HTTPResponse {
        if request.target == "*" { return Self.options(allowing: everyMethod()) }
        guard let segments = Self.segments(of: request) else { return try await badPath(request) }
        var search = Search(method: request.method, segments: segments)
        if find(&search, node: 0, at: 0), let route = search.route {
            return try await route.handler(request, PathParameters(names: route.names, values: search.values))
        }
        if search.hasBadRest { return try await badPath(request) }
        guard !search.allowed.isEmpty else { return try await notFound(request) }
        let allowed = Self.complete(search.allowed)
        if request.method == .options { return Self.options(allowing: allowed) }
        var response = try await methodNotAllowed(request, allowed)
        // RFC 9110 section 15.5.6: a 405 tells what is allowed.
        if !response.headers.contains("Allow") { response.headers["Allow"] = Self.list(allowed) }
        return response
    }

    // MARK: Searching

    private struct Search {
        let method: HTTPMethod
        let segments: [String]
        var values: [String] = []
        var allowed: [HTTPMethod] = []
        var hasBadRest = false
        var route: Route?
    }

    /// Depth first, the more particular branch first; a branch that lacks the method leaves what it allows.
    private func find(_ search: inout Search, node: Int, at index: Int) -> Bool {
        if index == search.segments.count { return take(&search, from: node) }
        let segment = search.segments[index]
        if let next = nodes[node].literals[segment], find(&search, node: next, at: index + 1) { return true }
        if let next = nodes[node].parameter, !segment.isEmpty {
            search.values.append(segment)
            if find(&search, node: next, at: index + 1) { return true }
            search.values.removeLast()
        }
        if let next = nodes[node].rest {
            let rest = search.segments[index...]
            // Handlers put the rest behind a folder's name, so nothing in it may lead out of the folder.
            guard rest.allSatisfy({ $0 != "." && $0 != ".." && !$0.utf8.contains(UInt8(ascii: "/")) }) else {
                search.hasBadRest = true
                return false
            }
            search.values.append(rest.joined(separator: "/"))
            if take(&search, from: next) { return true }
            search.values.removeLast()
        }
        return false
    }

    private func take(_ search: inout Search, from node: Int) -> Bool {
        let routes = nodes[node].routes
        search.route =
            routes.first { $0.method == search.method }
            ?? (search.method == .head ? routes.first { $0.method == .get } : nil)
        if search.route != nil { return true }
        search.allowed += routes.map(\.method)
        return false
    }

    /// The decoded segments after the first slash, or `nil` when an escape is bad.
    private static func segments(of request: HTTPRequest) -> [String]? {
        var target = request.target
        let range = request.pathStart..<request.pathEnd
        return target.withUTF8 { bytes in
            guard !range.isEmpty else { return [""] }
            let path = UnsafeBufferPointer(rebasing: bytes[range])
            guard path.first == UInt8(ascii: "/") else { return nil }
            var segments: [String] = []
            segments.reserveCapacity(8)
            var start = 1
            while true {
                var end = start
                var isPlain = true
                while end < path.count, path[end] != UInt8(ascii: "/") {
                    if path[end] == UInt8(ascii: "%") { isPlain = false }
                    end += 1
                }
                let segment = UnsafeBufferPointer(rebasing: path[start..<end])
                if isPlain {
                    segments.append(String(decoding: segment, as: UTF8.self))
                } else {
                    guard let decoded = PercentCoding.decode(segment) else { return nil }
                    segments.append(decoded)
                }
                if end == path.count { return segments }
                start = end + 1
            }
        }
    }

    // MARK: Methods

    private func everyMethod() -> [HTTPMethod] { Self.complete(nodes.flatMap { $0.routes.map(\.method) }) }

    private static func complete(_ methods: [HTTPMethod]) -> [HTTPMethod] {
        var all = Set(methods)
        if all.contains(.get) { all.insert(.head) }
        all.insert(.options)
        return all.sorted { $0.rawValue < $1.rawValue }
    }

    private static func list(_ methods: [HTTPMethod]) -> String {
        methods.map(\.rawValue).joined(separator: ", ")
    }

    private static func options(allowing methods: [HTTPMethod]) -> HTTPResponse {
        HTTPResponse(.noContent, headers: ["Allow": list(methods)])
    }
}
