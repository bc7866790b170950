/// Field compression of what a client sends (RFC 7541). nghttp2 has one too, but it never lets the server remember an
/// authorization, which then travels with every request, and it writes the names of literals out each time.
///
/// What is encoded must be sent, in the same order: the server's table of fields follows ours. Nothing is Huffman coded,
/// which would cost more time than the bytes are worth.
struct HPACKEncoder {
    /// A field that the server remembers.
    private struct Entry {
        /// The name and the value.
        let bytes: [UInt8]
        let nameLength: Int
        /// Section 4.1.
        var size: Int { bytes.count + 32 }
    }

    /// What became of shared fields when they were last encoded, if all of them were remembered by then.
    private struct Known {
        var fields: HTTP2SharedFields?
        var insertions = 0
        var block: [UInt8] = []
    }

    /// We need no more than what every server has at first (RFC 9113 section 6.5.2).
    private static let mostTable = 4096
    /// Appendix A: so many fields are known from the start.
    private static let staticCount = 61

    /// From the oldest on.
    private var entries: [Entry] = []
    private var size = 0
    /// How many were ever remembered; the newest entry has this number.
    private var insertions = 0
    private var limit = mostTable
    /// The smallest limit since the last block; `nil` when there was no other.
    private var smallestLimit: Int?
    private var known = [Known(), Known()]
    /// Where the names of literals were last found. Names are told apart by their address.
    private var names: [(name: UnsafePointer<UInt8>, number: Int)] = []

    /// SETTINGS_HEADER_TABLE_SIZE of the server.
    mutating func setTableSize(_ most: Int) {
        let most = min(most, Self.mostTable)
        guard most != limit else { return }
        limit = most
        smallestLimit = min(most, smallestLimit ?? most)
        evict(for: 0)
        known = [Known(), Known()]
    }

    /// To be called before the first field of each request.
    mutating func begin(_ out: inout [UInt8]) {
        guard let smallest = smallestLimit else { return }
        // Section 4.2: the smallest is told as well, so that the server forgets what we have forgotten.
        if smallest < limit { Self.append(smallest, prefix: 5, pattern: 0x20, to: &out) }
        Self.append(limit, prefix: 5, pattern: 0x20, to: &out)
        smallestLimit = nil
    }

    // MARK: Fields

    /// Fields that many requests have.
    /// - Parameter place: 0 or 1: what was encoded there last is encoded soon if it is the same.
    mutating func add(_ fields: HTTP2SharedFields, at place: Int, to out: inout [UInt8]) {
        if known[place].insertions == insertions, known[place].fields === fields {
            return out.append(contentsOf: known[place].block)
        }
        let (start, before) = (out.count, insertions)
        for field in fields.fields { add(field.bytes, nameLength: field.nameLength, to: &out) }
        if insertions == before {
            known[place] = Known(fields: fields, insertions: insertions, block: Array(out[start...]))
        }
    }

    /// A field that the server is to remember.
    mutating func add(_ field: [UInt8], nameLength: Int, to out: inout [UInt8]) {
        if let index = Self.staticField(field) { return Self.append(index, prefix: 7, pattern: 0x80, to: &out) }
        if let number = number(of: field, nameLength) {
            return Self.append(index(of: number), prefix: 7, pattern: 0x80, to: &out)
        }
        let isRemembered = field.count + 32 <= limit
        let name = field[..<nameLength]
        if let index = Self.staticName(name) ?? self.number(ofName: name).map({ index(of: $0) }) {
            Self.append(index, prefix: isRemembered ? 6 : 4, pattern: isRemembered ? 0x40 : 0, to: &out)
        } else {
            out.append(isRemembered ? 0x40 : 0)
            Self.append(name, to: &out)
        }
        Self.append(field[nameLength...], to: &out)
        if isRemembered { remember(Entry(bytes: field, nameLength: nameLength)) }
    }

    /// A field of this request only. The first of a name is remembered all the same, so that the others need not say it.
    mutating func addLiteral(
        _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]
    ) {
        if let number = knownNumber(ofName: name) {
            Self.append(index(of: number), prefix: 4, pattern: 0, to: &out)
            Self.append(value, to: &out)
        } else {
            add(Array(name) + value, nameLength: name.count, to: &out)
        }
    }

    /// `:method`.
    mutating func addMethod(_ method: HTTPMethod, to out: inout [UInt8]) {
        // Appendix A.
        switch method {
        case .get: out.append(0x80 | 2)
        case .post: out.append(0x80 | 3)
        default:
            out.append(2)
            Self.append(method.rawValue.utf8, to: &out)
        }
    }

    /// `:path`, which is never remembered.
    mutating func addPath(_ path: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
        out.append(4)
        Self.append(path, to: &out)
    }

    private mutating func knownNumber(ofName name: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let address = name.baseAddress else { return nil }
        for place in names.indices where names[place].name == address {
            if isRemembered(names[place].number) { return names[place].number }
            names.remove(at: place)
            break
        }
        guard let number = number(ofName: name) else { return nil }
        if names.count >= 16 { names = [] }
        names.append((address, number))
        return number
    }

    // MARK: What the server remembers

    private func isRemembered(_ number: Int) -> Bool { number > insertions - entries.count }

    /// Section 2.3.3: the newest is the first after the static ones.
    private func index(of number: Int) -> Int { Self.staticCount + 1 + insertions - number }

    private func number(of field: [UInt8], _ nameLength: Int) -> Int? {
        for (place, entry) in entries.enumerated() where entry.nameLength == nameLength && entry.bytes == field {
            return insertions - entries.count + 1 + place
        }
        return nil
    }

    private func number(ofName name: some Collection<UInt8>) -> Int? {
        for (place, entry) in entries.enumerated() where entry.nameLength == name.count {
            if entry.bytes.starts(with: name) { return insertions - entries.count + 1 + place }
        }
        return nil
    }

    private mutating func remember(_ entry: Entry) {
        evict(for: entry.size)
        entries.append(entry)
        size += entry.size
        insertions += 1
    }

    private mutating func evict(for more: Int) {
        while size + more > limit, !entries.isEmpty { size -= entries.removeFirst().size }
    }

    /// Of Appendix A what is sent to push gateways.
    private static func staticField(_ field: [UInt8]) -> Int? {
        switch field.count {
        case 11 where field.elementsEqual(":schemehttp".utf8): 6
        case 12 where field.elementsEqual(":schemehttps".utf8): 7
        default: nil
        }
    }

    private static func staticName(_ name: ArraySlice<UInt8>) -> Int? {
        switch name.count {
        case 10 where name.elementsEqual(":authority".utf8): 1
        case 13 where name.elementsEqual("authorization".utf8): 23
        default: nil
        }
    }

    // MARK: Primitives

    /// Section 5.1.
    private static func append(_ number: Int, prefix: Int, pattern: UInt8, to out: inout [UInt8]) {
        let most = 1 << prefix - 1
        if number < most { return out.append(pattern | UInt8(number)) }
        out.append(pattern | UInt8(most))
        var rest = number - most
        while rest >= 128 {
            out.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        out.append(UInt8(rest))
    }

    /// Section 5.2.
    private static func append(_ text: some Collection<UInt8>, to out: inout [UInt8]) {
        append(text.count, prefix: 7, pattern: 0, to: &out)
        out.append(contentsOf: text)
    }
}

/// Fields that are the same on many requests, made once.
package final class HTTP2SharedFields: Sendable {
    let fields: [(bytes: [UInt8], nameLength: Int)]

    /// Names in small letters.
    package init(_ fields: [(name: String, value: String)]) {
        self.fields = fields.map { (Array($0.name.utf8) + Array($0.value.utf8), $0.name.utf8.count) }
    }
}
