internal import HirobaContract
internal import HirobaStore

/// An id that has the form of ours. Anything else names nothing, and is not worth a question to the database.
struct StoredID: Sendable, SQLBindable {
    let text: String

    /// - Throws: `notFound`.
    init<Subject>(_ id: ID<Subject>) throws(HirobaError) {
        guard let text = Self.checked(id.rawValue) else { throw .notFound }
        self.text = text
    }

    private static func checked(_ text: String) -> String? {
        let isOurs =
            text.utf8.count == 16
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: false
                }
            }
        return isOurs ? text : nil
    }

    var sqlValue: SQLValue { .text(text) }
    static var sqlType: SQLType? { .text }
}
