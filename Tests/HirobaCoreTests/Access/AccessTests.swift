import HirobaContract
import HirobaStore
import TestSupport
import Testing

@testable import HirobaCore

@Suite struct AccessTests {
    @Test("the SQL condition and the answer in memory agree for any lists and principals")
    func conditionAgreesWithMatches() async throws {
        // Few letters, both cases and parts of each other, so that near misses are common.
        let names = [
            "*", "u:a", "u:A", "u:ab", "u:b", "role:a", "role:ab", "a", "u:", ":", "é", "e\u{301}", "%", "_", "u",
            "' OR 1=1",
        ]
        var random = SplitMix(state: 7)
        func some(_ most: Int) -> [String] {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in names.randomElement(using: &random) ?? "*" }
        }
        let cases = (0..<400).map { number in
            let access: Access =
                switch number % 4 {
                case 0: .anyone
                case 1: .person(User.ID(["a", "A", "ab", "b"][number / 4 % 4]), roles: some(2).filter { $0 != "*" })
                default: Access(principals: some(4))
                }
            return (access, AccessList(some(4)))
        }
        #expect(cases.contains { $0.0.matches($0.1) } && cases.contains { !$0.0.matches($0.1) })
        // Statements that run all the time say the condition by a template.
        let template = SQLTemplate { principals in
            """
            SELECT 1 FROM (SELECT \(.given(.text)) AS acl) AS stored
            WHERE \(Access.condition(on: "acl", principals: principals))
            """
        }
        try await withDatabases { database in
            for (access, list) in cases {
                let allowed = try await database.read { db in
                    try db.first(
                        "SELECT 1 FROM (SELECT \(list) AS acl) AS stored WHERE \(access.condition(on: "acl"))"
                    ) { _ in true } == true
                }
                let allowedByTemplate = try await database.read { db in
                    try db.first(
                        template.filled(
                            with: [list.sqlValue] + access.values, form: access.principals.count)
                    ) { _ in true } == true
                }
                #expect(allowed == access.matches(list), "\(access.principals) on '\(list.text)'")
                #expect(allowedByTemplate == allowed, "\(access.principals) on '\(list.text)'")
            }
        }
    }

    @Test("a name is not found inside another, nor in another case")
    func wholeNames() {
        let list = AccessList(["u:abc", "role:editors"])
        #expect(Access.person("abc").matches(list))
        for id in ["ab", "bc", "ABC", "abcd", "", "*"] as [User.ID] { #expect(!Access.person(id).matches(list)) }
        #expect(Access.person("x", roles: ["editors"]).matches(list))
        #expect(!Access.person("x", roles: ["editor", "Editors", "editors role:x"]).matches(list))
        #expect(!Access(principals: ["", " ", "u:abc role:editors"]).matches(list))
    }

    @Test("an empty list lets nobody in, a list of everyone lets in whoever comes")
    func extremes() {
        #expect(!Access.anyone.matches(AccessList([])))
        #expect(!Access.person("abc", roles: ["admin"]).matches(AccessList([])))
        #expect(Access.anyone.matches(.everyone))
        #expect(Access.person("abc").matches(.everyone))
        #expect(!Access(principals: []).matches(.everyone))
    }
}

/// Random numbers that are the same in every run (Steele and others, "Fast splittable pseudorandom number generators").
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
