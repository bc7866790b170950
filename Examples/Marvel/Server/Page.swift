import HirobaJSON

/// The part of a list that a query asks for, with the service's own refusals of what it cannot ask.
struct Page {
    private var offset = 0
    private var limit = 20
    private var total: Int
    private var results: [InventedData.Item]

    /// A single object is a list of one.
    init(_ item: InventedData.Item) {
        total = 1
        results = [item]
    }

    /// - Parameters:
    ///   - named: the parameter that filters by name; `…StartsWith` by its first letters.
    ///   - related: the parameter that filters by ids of the other kind.
    init(
        _ items: [InventedData.Item], _ query: Query, named name: String, related: String?, orders: [String]
    ) throws(ComicsServer.Refusal) {
        let keys = ["ts", "apikey", "hash"]
        let known = keys + [name, "\(name)StartsWith", "modifiedSince", "orderBy", "limit", "offset", related ?? ""]
        for parameter in query.names {
            guard known.contains(parameter) else {
                throw .service(409, "We don't recognize the parameter \(parameter)")
            }
            if query[parameter]?.isEmpty ?? true, !keys.contains(parameter) {
                throw .service(409, "\(parameter) cannot be blank if it is set")
            }
        }
        if let text = query["limit"] {
            guard let number = Int(text), number >= 1 else {
                throw .service(409, "You must pass an integer limit greater than 0.")
            }
            guard number <= 100 else { throw .service(409, "You may not request more than 100 items.") }
            limit = number
        }
        if let text = query["offset"] {
            guard let number = Int(text), number >= 0 else {
                throw .service(409, "You must pass an integer offset of 0 or more.")
            }
            offset = number
        }

        var found = items
        if let wanted = query[name] { found = found.filter { $0.name == wanted } }
        if let start = query["\(name)StartsWith"]?.lowercased() {
            found = found.filter { $0.name.lowercased().hasPrefix(start) }
        }
        // Dates of one form compare as texts; what differs behind the day does not matter to a test server.
        if let since = query["modifiedSince"] { found = found.filter { $0.modified.prefix(10) >= since.prefix(10) } }
        if let related, let text = query[related] {
            let ids = text.split(separator: ",").compactMap { Int($0) }
            guard ids.count <= 10 else { throw .service(409, "You may not submit more than 10 \(related) ids.") }
            guard !ids.isEmpty else { throw .service(409, "You must pass at least one valid \(related) id.") }
            found = found.filter { item in ids.contains { item.related.contains($0) } }
        }
        try Self.sort(&found, by: query["orderBy"] ?? name, orders)
        total = found.count
        results = Array(found.dropFirst(offset).prefix(limit))
    }

    private static func sort(
        _ items: inout [InventedData.Item], by orderBy: String, _ orders: [String]
    ) throws(ComicsServer.Refusal) {
        // The last criterion first: each later sort keeps the order of equals, as `sort` is stable.
        for order in orderBy.split(separator: ",", omittingEmptySubsequences: false).reversed() {
            let descends = order.hasPrefix("-")
            let field = String(descends ? order.dropFirst() : order)
            guard orders.contains(field) else {
                throw .service(409, "\(order) is not a valid ordering parameter.")
            }
            func precedes(_ one: InventedData.Item, _ other: InventedData.Item) -> Bool {
                switch field {
                case "modified": one.modified < other.modified
                case "issueNumber": one.issueNumber < other.issueNumber
                default: one.name < other.name
                }
            }
            items.sort { descends ? precedes($1, $0) : precedes($0, $1) }
        }
    }

    var json: JSON {
        [
            "offset": .integer(Int64(offset)), "limit": .integer(Int64(limit)), "total": .integer(Int64(total)),
            "count": .integer(Int64(results.count)), "results": .array(results.map(\.json)),
        ]
    }
}
