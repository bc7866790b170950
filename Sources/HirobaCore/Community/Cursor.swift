internal import HirobaCrypto
internal import HirobaStore

/// Where a page of a newest-first list ended: behind the item with this time and id.
///
/// It travels as text that says nothing to anybody. A check value over it and the list's name turns typing errors,
/// cuts and cursors of other lists into an error instead of a page from nowhere. It is no secret: a forged cursor
/// shows nothing that the list does not show anyway.
struct Cursor: Sendable, Equatable {
    let createdAt: Int64
    let id: String

    init(createdAt: Int64, id: String) {
        self.createdAt = createdAt
        self.id = id
    }

    /// - Throws: `invalidField` for `after`.
    init(_ text: String, of list: String) throws(HirobaError) {
        guard text.utf8.count < 100, let bytes = Base64URL.decode(text), bytes.count > 8 + Self.checkLength,
            Self.check(bytes.dropLast(Self.checkLength), list) == Array(bytes.suffix(Self.checkLength))
        else {
            throw .invalid(
                "after",
                Sentence(en: "This is not the `next` of a page of this list.", ja: "ページの続きを示す値が正しくありません。"))
        }
        createdAt = Int64(bitPattern: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        id = String(decoding: bytes.dropFirst(8).dropLast(Self.checkLength), as: UTF8.self)
    }

    func text(of list: String) -> String {
        let time = UInt64(bitPattern: createdAt)
        let content = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * UInt64($0))) } + Array(id.utf8)
        return Base64URL.encode(content + Self.check(content[...], list))
    }

    private static let checkLength = 6

    private static func check(_ content: ArraySlice<UInt8>, _ list: String) -> [UInt8] {
        Array(SHA256.hash(Array("\(list)\n".utf8) + content).prefix(checkLength))
    }
}

/// What of a list is asked for.
struct PageRequest: Sendable {
    private let list: String
    private let limit: Int
    private let after: Cursor?

    /// - Parameter list: the list's name, the same for each of its pages.
    init(_ list: String, limit: Int?, after: String?, _ limits: Limits) throws(HirobaError) {
        let limit = limit ?? limits.page
        guard (1...limits.largestPage).contains(limit) else {
            throw .invalid(
                "limit",
                Sentence(
                    en: "A page has 1 to \(limits.largestPage) items.", ja: "1ページの件数は1〜\(limits.largestPage)件です。"))
        }
        self.list = list
        self.limit = limit
        self.after = if let after { try Cursor(after, of: list) } else { nil }
    }

    /// Continues a WHERE: the rows of the page and one more, newest first, by an index over (created_at, id).
    func rows(of table: SQL) -> SQL {
        Self.rows(of: table, after: after.map { "\($0.createdAt), \($0.id)" }, limit: "\(limit + 1)")
    }

    /// Continues the WHERE of a template: what `rows(of:)` says, in the form that `form` chose. The places are given
    /// `values`.
    static func rows(of table: SQL, _ form: Int) -> SQL {
        let after: SQL? = form.isMultiple(of: 2) ? nil : "\(.given(.integer)), \(.given(.text))"
        return rows(of: table, after: after, limit: .given(.integer))
    }

    private static func rows(of table: SQL, after: SQL?, limit: SQL) -> SQL {
        let start: SQL = after.map { " AND (\(table).created_at, \(table).id) < (\($0))" } ?? ""
        return "\(start) ORDER BY \(table).created_at DESC, \(table).id DESC LIMIT \(limit)"
    }

    var values: [SQLValue] {
        let start: [SQLValue] = if let after { [.integer(after.createdAt), .text(after.id)] } else { [] }
        return start + [.integer(Int64(limit + 1))]
    }

    /// The form of a template that depends on the page and on one other number.
    func form(_ number: Int) -> Int { 2 * number + (after == nil ? 0 : 1) }

    static func number(in form: Int) -> Int { form / 2 }

    /// The page, when `items` are what `rows` found. The one more tells whether there is a next page.
    func page<Item>(_ items: [Item], at place: (Item) -> Cursor) -> (items: [Item], next: String?) {
        guard items.count > limit, let last = items.prefix(limit).last else { return (items, nil) }
        return (Array(items.prefix(limit)), place(last).text(of: list))
    }
}
