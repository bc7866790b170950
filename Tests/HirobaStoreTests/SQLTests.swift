import Testing

@testable import HirobaStore

@Suite struct SQLTests {
    @Test("interpolated values become parameters, numbered once at the end, with their types on PostgreSQL")
    func parameters() {
        let mine: SQL = "owner = \("u1")"
        let recent: SQL = "created > \(Int64(7)) AND hidden = \(false)"
        let statement: SQL = "SELECT id FROM topics WHERE \(mine) AND (\(recent)) LIMIT \(20)"
        let sqlite = statement.rendered(for: .sqlite)
        #expect(sqlite.text == "SELECT id FROM topics WHERE owner = ? AND (created > ? AND hidden = ?) LIMIT ?")
        let postgres = statement.rendered(for: .postgres)
        #expect(
            postgres.text == """
                SELECT id FROM topics WHERE owner = $1::text AND (created > $2::int8 AND hidden = $3::boolean) \
                LIMIT $4::int8
                """)
        #expect(postgres.values == [.text("u1"), .integer(7), .integer(0), .integer(20)])
        #expect(sqlite.values == postgres.values)
    }

    @Test("the same piece can stand in several statements and several times in one")
    func reuse() {
        let piece: SQL = "x = \(1)"
        #expect(
            SQL.joined([piece, piece], separator: " OR ").rendered(for: .postgres).text
                == "x = $1::int8 OR x = $2::int8")
        #expect((piece + " AND " + piece).rendered(for: .sqlite).values == [.integer(1), .integer(1)])
    }

    @Test("no conditions at all are true for `all` and false for `any`; an empty list holds nothing")
    func emptyLists() {
        #expect(SQL.all([]).rendered(for: .sqlite).text == "1 = 1")
        #expect(SQL.any([]).rendered(for: .sqlite).text == "1 = 0")
        #expect(SQL.all(["a", "b OR c"]).rendered(for: .sqlite).text == "((a) AND (b OR c))")
        #expect(SQL.isAny("id", of: [String]()).rendered(for: .sqlite).text == "1 = 0")
        #expect(SQL.isAny("id", of: ["a", "b"]).rendered(for: .postgres).text == "id IN ($1::text, $2::text)")
    }

    @Test("what a stranger sent never becomes part of the text")
    func injection() {
        let name = "x'; DROP TABLE users; --"
        let statement: SQL =
            "SELECT \(name), \(Optional(name)), \(SQLValue.text(name)) WHERE \(SQL.contains("t", name))"
        for dialect in [Dialect.sqlite, .postgres] {
            #expect(!statement.rendered(for: dialect).text.contains("DROP"))
        }
    }

    @Test("a text by dialect takes part in the numbering of its own engine only")
    func byDialect() {
        let statement: SQL = "\(1) \(SQL.byDialect(sqlite: "a \(2)", postgres: "b \(3) \(4)")) \(5)"
        #expect(statement.rendered(for: .sqlite).values == [.integer(1), .integer(2), .integer(5)])
        #expect(statement.rendered(for: .postgres).text == "$1::int8 b $2::int8 $3::int8 $4::int8")
    }

    @Test("a null keeps the type of its Swift value")
    func typedNull() {
        let statement: SQL = "\(nil as String?) \(nil as Int?) \(SQLValue.null)"
        #expect(statement.rendered(for: .postgres).text == "$1::text $2::int8 $3")
    }
}
