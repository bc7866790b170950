/// The members of a JSON object, in the order in which they were written.
///
/// A name occurs once. Names are compared scalar by scalar.
public struct JSONObject: Sendable {
    /// A name and its value.
    public struct Member: Sendable, Hashable {
        /// The member's name.
        public var name: String
        /// The member's value.
        public var value: JSON

        /// A member.
        public init(name: String, value: JSON) {
            self.name = name
            self.value = value
        }

        /// Whether both have the same name and say the same.
        public static func == (left: Member, right: Member) -> Bool {
            left.name.hasSameScalars(as: right.name) && left.value == right.value
        }
    }

    /// A name as a dictionary key: hashed as Swift does, but equal only when every scalar is.
    private struct Name: Hashable, Sendable {
        var text: String
        static func == (left: Name, right: Name) -> Bool { left.text.hasSameScalars(as: right.text) }
        func hash(into hasher: inout Hasher) { hasher.combine(text) }
    }

    /// Above this many members a dictionary finds a name. Below, walking the list is as fast and needs no memory.
    private static let largestWalk = 16

    private var members: [Member] = []
    private var positions: [Name: Int]?

    /// No members.
    public init() {}

    /// Members in order; of several with one name the last value stands, in the place of the first.
    public init(_ members: some Sequence<(String, JSON)>) {
        for (name, value) in members { self[name] = value }
    }

    /// The value of a name. Setting an existing name keeps its place, setting nil removes it.
    public subscript(_ name: String) -> JSON? {
        get { position(of: name).map { members[$0].value } }
        set {
            guard let newValue else {
                removeValue(named: name)
                return
            }
            if let position = position(of: name) {
                members[position].value = newValue
            } else {
                append(name, newValue)
            }
        }
    }

    /// Removes a member and answers its value.
    @discardableResult
    public mutating func removeValue(named name: String) -> JSON? {
        guard let position = position(of: name) else { return nil }
        let removed = members.remove(at: position)
        positions = nil
        if members.count > Self.largestWalk { indexNames() }
        return removed.value
    }

    /// Whether there is a member of that name.
    public func contains(_ name: String) -> Bool { position(of: name) != nil }

    /// The names in order.
    public var names: [String] { members.map(\.name) }

    package func position(of name: String) -> Int? {
        if let positions { return positions[Name(text: name)] }
        return members.firstIndex { $0.name.hasSameScalars(as: name) }
    }

    /// Adds a member whose name is known to be new.
    mutating func append(_ name: String, _ value: JSON) {
        members.append(Member(name: name, value: value))
        if positions != nil {
            positions?[Name(text: name)] = members.count - 1
        } else if members.count > Self.largestWalk {
            indexNames()
        }
    }

    mutating func replaceValue(at position: Int, with value: JSON) { members[position].value = value }

    mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

    private mutating func indexNames() {
        var positions: [Name: Int] = [:]
        positions.reserveCapacity(members.count * 2)
        for (position, member) in members.enumerated() { positions[Name(text: member.name)] = position }
        self.positions = positions
    }
}

extension JSONObject: RandomAccessCollection {
    /// Where the members begin.
    public var startIndex: Int { 0 }
    /// One past the last member.
    public var endIndex: Int { members.count }
    /// The member at a position.
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Hashable {
    /// Whether both have the same members, in whatever order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count
            && left.members.allSatisfy { member in right[member.name] == member.value }
    }

    /// Feeds the members to a hasher, whatever their order.
    public func hash(into hasher: inout Hasher) {
        var sum = 0
        for member in members {
            sum = sum &+ member.hashValue
        }
        hasher.combine(sum)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Members in the order written.
    public init(dictionaryLiteral members: (String, JSON)...) { self.init(members) }
}
