package import HirobaContract
package import HirobaStore

/// What somebody may see and change: the one permission check of every path into the data.
///
/// It answers in two ways that must never differ: as an SQL condition for statements, and for a list already in hand.
package struct Access: Sendable, Equatable {
    /// `*` is everyone, `u:ID` a person, `role:NAME` whoever has that role.
    package let principals: [String]
    /// As `AccessList` keeps them.
    private let entries: [String]

    /// Principals that a list could not hold, the empty one and those with a blank in them, stand for nobody and are
    /// left out: inside a list they would read as two.
    package init(principals: [String]) {
        self.principals = principals.filter { !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: " ")) }
        entries = self.principals.map { " \($0) " }
    }

    /// Nobody in particular.
    package static let anyone = Access(principals: ["*"])

    package static func person(_ id: User.ID, roles: [String] = []) -> Access {
        Access(principals: ["*", "u:\(id.rawValue)"] + roles.map { "role:\($0)" })
    }

    /// Whether the list names one of the principals. Names are compared byte for byte.
    package func matches(_ list: AccessList) -> Bool {
        list.text.utf8.split(separator: UInt8(ascii: " ")).contains { entry in
            principals.contains { $0.utf8.elementsEqual(entry) }
        }
    }

    /// `matches` for the list in a column.
    package func condition(on column: SQL) -> SQL {
        Self.condition(on: column, entries.map { "\($0)" })
    }

    /// The same in a template, for so many principals. The places are given `values`.
    static func condition(on column: SQL, principals: Int) -> SQL {
        condition(on: column, (0..<principals).map { _ in .given(.text) })
    }

    private static func condition(on column: SQL, _ entries: [SQL]) -> SQL {
        .any(entries.map { SQL.contains(column, $0) })
    }

    /// What `condition(on:principals:)` is given for each place in turn.
    var values: [SQLValue] { entries.map { .text($0) } }
}

/// Principals as the columns `acl_read` and `acl_write` keep them: between blanks, ` * u:ID `, so that no name is found
/// inside a longer one.
package struct AccessList: Sendable, Equatable {
    package let text: String

    package init(_ principals: [String]) {
        let names = Access(principals: principals).principals
        text = names.isEmpty ? " " : " \(names.joined(separator: " ")) "
    }

    /// A list as a row holds it.
    package init(stored text: String) { self.text = text }

    package static let everyone = AccessList(["*"])

    package static func only(_ id: User.ID) -> AccessList { AccessList(["u:\(id.rawValue)"]) }
}

extension AccessList: SQLBindable {
    package var sqlValue: SQLValue { .text(text) }
    package static var sqlType: SQLType? { .text }
}
