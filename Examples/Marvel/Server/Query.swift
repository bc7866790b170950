import HirobaHTTP

/// The names and values after the question mark. The first of a repeated name counts.
struct Query {
    private var values: [(name: String, value: String)] = []

    init(_ text: String) throws(ComicsServer.Refusal) {
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(pair[0].utf8),
                let value = PercentCoding.decode((pair.count == 2 ? pair[1] : "").utf8)
            else { throw .service(409, "The query is not well formed.") }
            values.append((name, value))
        }
    }

    var names: [String] { values.map(\.name) }

    subscript(_ name: String) -> String? { values.first { $0.name == name }?.value }
}
