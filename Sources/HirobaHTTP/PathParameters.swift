/// What stood where a route's template has `{name}`, percent-decoded.
package struct PathParameters: Sendable, Sequence {
    private var names: [String]
    private var values: [String]

    package init(names: [String] = [], values: [String] = []) {
        self.names = names
        self.values = values
    }

    package subscript(_ name: String) -> String? {
        guard let index = names.firstIndex(of: name), index < values.count else { return nil }
        return values[index]
    }

    package func makeIterator() -> Zip2Sequence<[String], [String]>.Iterator { zip(names, values).makeIterator() }
}
