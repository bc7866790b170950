/// A call that reads its fields itself, several times faster than through `Decodable`, for those that are made all the time.
///
/// Whatever is out of the ordinary, such as a field too many or a number that is none, makes it nil: `init(from:)` then
/// says what is wrong, or takes it after all.
package protocol QuickCall: CallDescription {
    init?(path: (String) -> String?, query: PlainQuery)
}

/// A query without escapes. Fields are taken out of it; what is left in the end is what the call does not know.
package struct PlainQuery {
    private var items: [(name: String, value: String)] = []

    package var isEmpty: Bool { items.isEmpty }

    /// Nil for a query that holds escapes.
    package init?(_ query: String?) {
        guard let query, !query.isEmpty else { return }
        var name: String?
        var text: [UInt8] = []
        for byte in query.utf8 {
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "+"): return nil
            case UInt8(ascii: "=") where name == nil:
                name = String(decoding: text, as: UTF8.self)
                text.removeAll(keepingCapacity: true)
            case UInt8(ascii: "&"):
                add(&name, &text)
            default: text.append(byte)
            }
        }
        add(&name, &text)
    }

    private mutating func add(_ name: inout String?, _ text: inout [UInt8]) {
        let last = String(decoding: text, as: UTF8.self)
        text.removeAll(keepingCapacity: true)
        if let name { items.append((name, last)) } else if !last.isEmpty { items.append((last, "")) }
        name = nil
    }

    package mutating func take(_ name: String) -> String? {
        guard let index = items.firstIndex(where: { $0.name == name }) else { return nil }
        return items.remove(at: index).value
    }

    /// A number of up to nine digits. One that is written otherwise stays where it is.
    package mutating func takeNumber(_ name: String) -> Int? {
        guard let index = items.firstIndex(where: { $0.name == name }) else { return nil }
        let text = items[index].value.utf8
        guard (1...9).contains(text.count), text.allSatisfy({ (0x30...0x39).contains($0) }),
            text.first != 0x30 || text.count == 1
        else { return nil }
        items.remove(at: index)
        return text.reduce(0) { 10 * $0 + Int($1 - 0x30) }
    }
}

extension ListTopics: QuickCall {
    package init?(path: (String) -> String?, query: PlainQuery) {
        var query = query
        self.init(limit: query.takeNumber("limit"), after: query.take("after"))
        guard query.isEmpty else { return nil }
    }
}

extension GetTopic: QuickCall {
    package init?(path: (String) -> String?, query: PlainQuery) {
        guard query.isEmpty, let topic = Topic.ID(checked: path("topic")) else { return nil }
        self.init(topic: topic)
    }
}

extension ListComments: QuickCall {
    package init?(path: (String) -> String?, query: PlainQuery) {
        var query = query
        guard let topic = Topic.ID(checked: path("topic")) else { return nil }
        self.init(
            topic: topic, limit: query.takeNumber("limit"), after: query.take("after"))
        guard query.isEmpty else { return nil }
    }
}

extension DownloadFile: QuickCall {
    package init?(path: (String) -> String?, query: PlainQuery) {
        var query = query
        guard let file = StoredFile.ID(checked: path("file")) else { return nil }
        self.init(file: file, size: query.takeNumber("size"))
        guard query.isEmpty else { return nil }
    }
}

extension ID {
    fileprivate init?(checked text: String?) {
        guard let text, Self.isWellFormed(text) else { return nil }
        self.init(rawValue: text)
    }
}
