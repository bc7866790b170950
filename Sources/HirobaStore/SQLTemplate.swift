import HirobaThreads
import Synchronization

/// A statement that is run all the time: its text is put together once, and then only the values are new.
///
/// ```swift
/// static let byID = SQLTemplate { "SELECT title FROM topics WHERE id = \(.given(.text))" }
/// try db.first(byID.filled(with: [.text(id)])) { row in try row.text(0) }
/// ```
/// Values take the places of `given` in their order. No other values may stand before what was filled.
package final class SQLTemplate: Sendable {
    /// The statement as each engine reads it.
    final class Text: Sendable {
        let sqlite: RenderedSQL
        let postgres: RenderedSQL
        /// Where connections keep their statement for it; nil for a text that is used once.
        let number: Int?

        init(_ sql: SQL, isKept: Bool) {
            (sqlite, postgres) = (sql.rendered(for: .sqlite), sql.rendered(for: .postgres))
            number = isKept ? Self.count.wrappingAdd(1, ordering: .relaxed).oldValue : nil
        }

        private static let count = Atomic(0)
    }

    private let make: @Sendable (Int) -> SQL
    private let texts = Lock<[Text?]>([])

    /// Forms that are kept: beyond these a statement is put together each time.
    private static let mostForms = 16

    /// A statement with one form.
    package convenience init(_ sql: @escaping @Sendable () -> SQL) { self.init { _ in sql() } }

    /// A statement whose text depends on a small number, such as how many conditions there are.
    package init(form sql: @escaping @Sendable (Int) -> SQL) { make = sql }

    package func filled(with values: [SQLValue], form: Int = 0) -> SQL {
        precondition(form >= 0, "a form is no negative number")
        let text = texts.withLock { texts -> Text in
            if form < texts.count, let known = texts[form] { return known }
            guard form < Self.mostForms else { return Text(make(form), isKept: false) }
            let made = Text(make(form), isKept: true)
            while texts.count <= form { texts.append(nil) }
            texts[form] = made
            return made
        }
        return SQL(text, values)
    }
}
