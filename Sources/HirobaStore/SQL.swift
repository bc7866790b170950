/// A piece of SQL whose interpolations are bound values.
///
/// ```swift
/// let mine: SQL = "owner = \(person)"
/// try db.rows("SELECT id FROM topics WHERE \(mine) ORDER BY created_at DESC LIMIT \(20)") { row in try row.text(0) }
/// ```
/// It stays in pieces until it is run, so conditions compose: an `SQL` interpolated into another is spliced, anything
/// else is a parameter, and parameters are numbered once, at the end. On PostgreSQL every parameter carries the type of
/// its Swift value (`$1::int8`), so `\(x) IS NULL` and `\(n) - 1000` mean there what they mean on SQLite.
package struct SQL: Sendable, ExpressibleByStringInterpolation {
    enum Piece: Sendable {
        case text(String)
        case value(SQLValue, SQLType?)
        case byDialect(sqlite: SQL, postgres: SQL)
        case filled(SQLTemplate.Text, [SQLValue])
    }

    private(set) var pieces: [Piece]

    package init(stringLiteral text: String) { pieces = text.isEmpty ? [] : [.text(text)] }

    package init(stringInterpolation: StringInterpolation) { pieces = stringInterpolation.pieces }

    fileprivate init(pieces: [Piece]) { self.pieces = pieces }

    init(_ text: SQLTemplate.Text, _ values: [SQLValue]) { pieces = [.filled(text, values)] }

    /// In a template: the place of a value that is given when the statement is run.
    package static func given(_ type: SQLType) -> SQL { SQL(pieces: [.value(.null, type)]) }

    /// Text that becomes part of the statement as it is. Never build it from what a stranger sent.
    package init(unsafeSQL text: String) { pieces = [.text(text)] }

    package var isEmpty: Bool { pieces.isEmpty }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(2 * interpolationCount + 1)
        }

        package mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { pieces.append(.text(literal)) }
        }

        /// A bound value.
        package mutating func appendInterpolation<Value: SQLBindable>(_ value: Value) {
            pieces.append(.value(value.sqlValue, Value.sqlType))
        }

        /// A bound value, or null with the value's type.
        package mutating func appendInterpolation<Value: SQLBindable>(_ value: Value?) {
            pieces.append(.value(value?.sqlValue ?? .null, Value.sqlType))
        }

        /// Another piece of SQL, spliced in with its own values.
        package mutating func appendInterpolation(_ sql: SQL) { pieces += sql.pieces }

        /// Text that becomes part of the statement as it is. Never build it from what a stranger sent.
        package mutating func appendInterpolation(unsafeSQL text: String) { pieces.append(.text(text)) }
    }

    package static func + (left: SQL, right: SQL) -> SQL { SQL(pieces: left.pieces + right.pieces) }

    package static func += (left: inout SQL, right: SQL) { left.pieces += right.pieces }

    /// The parts one after the other with `separator` between them; empty when there are none.
    package static func joined(_ parts: some Sequence<SQL>, separator: SQL) -> SQL {
        var pieces: [Piece] = []
        for (index, part) in parts.enumerated() {
            if index > 0 { pieces += separator.pieces }
            pieces += part.pieces
        }
        return SQL(pieces: pieces)
    }

    /// All conditions at once, each in brackets. No condition at all is true.
    package static func all(_ conditions: [SQL]) -> SQL { combined(conditions, by: ") AND (") ?? "1 = 1" }

    /// At least one of the conditions, each in brackets. No condition at all is false.
    package static func any(_ conditions: [SQL]) -> SQL { combined(conditions, by: ") OR (") ?? "1 = 0" }

    private static func combined(_ conditions: [SQL], by word: String) -> SQL? {
        var pieces: [Piece] = []
        for condition in conditions {
            pieces.append(.text(pieces.isEmpty ? "((" : word))
            pieces += condition.pieces
        }
        guard !pieces.isEmpty else { return nil }
        pieces.append(.text("))"))
        return SQL(pieces: pieces)
    }

    /// `expression IN (…)`, also right for an empty list, which SQL itself has no words for.
    package static func isAny(_ expression: SQL, of values: some Sequence<some SQLBindable>) -> SQL {
        let list = joined(values.map { "\($0)" }, separator: ", ")
        return list.isEmpty ? "1 = 0" : "\(expression) IN (\(list))"
    }

    /// One of two texts, chosen when the statement runs. The place for what the two engines truly say differently.
    package static func byDialect(sqlite: SQL, postgres: SQL) -> SQL {
        SQL(pieces: [.byDialect(sqlite: sqlite, postgres: postgres)])
    }

    /// The statement as one engine reads it.
    func rendered(for dialect: Dialect) -> RenderedSQL {
        if pieces.count == 1, case .filled(let template, let values) = pieces[0] {
            let text = dialect == .sqlite ? template.sqlite : template.postgres
            precondition(values.count == text.values.count, "a template was given another number of values")
            return RenderedSQL(text: text.text, values: values, template: template.number)
        }
        var rendered = RenderedSQL()
        // Room for most statements, so that the text is moved once at most.
        rendered.text.reserveCapacity(511)
        append(to: &rendered, dialect)
        return rendered
    }

    private func append(to rendered: inout RenderedSQL, _ dialect: Dialect) {
        for piece in pieces {
            switch piece {
            case .text(let text): rendered.text += text
            case .value(let value, let type):
                rendered.values.append(value)
                dialect.appendParameter(rendered.values.count, type, to: &rendered.text)
            case .byDialect(let sqlite, let postgres):
                (dialect == .sqlite ? sqlite : postgres).append(to: &rendered, dialect)
            case .filled(let template, let values):
                precondition(rendered.values.isEmpty, "values stand before what a template was filled to")
                rendered.text += dialect == .sqlite ? template.sqlite.text : template.postgres.text
                rendered.values = values
            }
        }
    }
}

/// A statement ready for one engine: its text, and the values of its parameters in order.
struct RenderedSQL: Sendable {
    var text = ""
    var values: [SQLValue] = []
    /// The number of the template it comes from.
    var template: Int?
}

/// A value as a database holds it.
package enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

/// The type a parameter is declared with on PostgreSQL.
package enum SQLType: Sendable {
    case integer, real, flag, text, bytes
}

/// What can be bound as a parameter: interpolate it into an `SQL`.
package protocol SQLBindable: Sendable {
    var sqlValue: SQLValue { get }
    /// Declares the parameter's type, also when the value is null.
    static var sqlType: SQLType? { get }
}

extension SQLValue: SQLBindable {
    package var sqlValue: SQLValue { self }
    package static var sqlType: SQLType? { nil }
}

extension Int: SQLBindable {
    package var sqlValue: SQLValue { .integer(Int64(self)) }
    package static var sqlType: SQLType? { .integer }
}

extension Int64: SQLBindable {
    package var sqlValue: SQLValue { .integer(self) }
    package static var sqlType: SQLType? { .integer }
}

extension Double: SQLBindable {
    package var sqlValue: SQLValue { .real(self) }
    package static var sqlType: SQLType? { .real }
}

/// For columns of type `\(.flag)`.
extension Bool: SQLBindable {
    package var sqlValue: SQLValue { .integer(self ? 1 : 0) }
    package static var sqlType: SQLType? { .flag }
}

/// A text with a NUL in it is refused with `.invalidText`: PostgreSQL cannot hold one.
extension String: SQLBindable {
    package var sqlValue: SQLValue { .text(self) }
    package static var sqlType: SQLType? { .text }
}

extension [UInt8]: SQLBindable {
    package var sqlValue: SQLValue { .bytes(self) }
    package static var sqlType: SQLType? { .bytes }
}

extension Optional: SQLBindable where Wrapped: SQLBindable {
    package var sqlValue: SQLValue { self?.sqlValue ?? .null }
    package static var sqlType: SQLType? { Wrapped.sqlType }
}
