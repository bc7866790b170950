import TestSupport
import Testing

@testable import HirobaStore

@Suite struct SQLTemplateTests {
    private static let named = SQLTemplate { "SELECT \(.given(.text)), \(.given(.integer)) + 1" }
    private static let listed = SQLTemplate { count in
        "SELECT \(SQL.joined((0..<count).map { _ in .given(.integer) }, separator: " + "))"
    }

    @Test("a template reads as the statement written out, on both engines")
    func text() {
        let filled = Self.named.filled(with: [.text("a"), .integer(1)])
        let written: SQL = "SELECT \("a"), \(Int64(1)) + 1"
        for dialect in [Dialect.sqlite, .postgres] {
            #expect(filled.rendered(for: dialect).text == written.rendered(for: dialect).text)
            #expect(filled.rendered(for: dialect).values == written.rendered(for: dialect).values)
            let explained: SQL = "EXPLAIN \(filled)"
            #expect(explained.rendered(for: dialect).text == "EXPLAIN " + written.rendered(for: dialect).text)
            #expect(explained.rendered(for: dialect).values == [.text("a"), .integer(1)])
        }
    }

    @Test("it runs again and again, with other values and in other forms, also inside itself")
    func running() async throws {
        try await withDatabases { database in
            for number in Int64(0)..<3 {
                let answer = try await database.read { db in
                    try db.first(Self.named.filled(with: [.text("n\(number)"), .integer(number)])) { row in
                        "\(try row.text(0)) \(try row.integer(1))"
                    }
                }
                #expect(answer == "n\(number) \(number + 1)")
            }
            // More forms than are kept.
            for count in (1...40).reversed() {
                let values = (1...count).map { SQLValue.integer(Int64($0)) }
                let sum = try await database.read { db in
                    try db.first(Self.listed.filled(with: values, form: count)) { row in try row.integer(0) }
                }
                #expect(sum == Int64(count * (count + 1) / 2))
            }
            guard database.dialect == .sqlite else { return }
            let inside = try await database.read { db in
                try db.first(Self.named.filled(with: [.text("outer"), .integer(1)])) { row in
                    let inner = try db.first(Self.named.filled(with: [.text("inner"), .integer(2)])) { row in
                        "\(try row.text(0)) \(try row.integer(1))"
                    }
                    return "\(inner ?? "") \(try row.text(0)) \(try row.integer(1))"
                }
            }
            #expect(inside == "inner 3 outer 2")
        }
    }
}
