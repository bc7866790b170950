package import HirobaJSON

/// Bad days of APNs, to be switched on one by one. Without any the front takes what is good and answers at once.
package struct FrontSwitches: Sendable, Hashable {
    /// Says GOAWAY on a connection after so many requests of it.
    package var goAwayAfter: Int?
    /// What GOAWAY gives as its reason.
    package var goAwayReason = "Shutdown"
    /// With GOAWAY breaks the connection off at once; answers that are still due never come.
    package var goAwayIsHard = false
    /// Breaks a connection off after so many requests of it, without a word.
    package var dropAfter: Int?
    /// Lowers the stream limit to 1 after a rejection, and restores it with the next push that is accepted. A 410 does not
    /// count.
    package var fallsBackToOneStream = false
    /// The stream limit once a provider's token was good.
    package var streamLimit = 1000
    /// Milliseconds that every answer takes, and up to how many more.
    package var latency = 0
    package var jitter = 0
    /// Shares of requests, from 0 to 1, that are answered 500, 503 and 429, or never. None of them is delivered.
    package var share500 = 0.0
    package var share503 = 0.0
    package var share429 = 0.0
    package var shareUnanswered = 0.0

    package init() {}
}

extension FrontSwitches {
    /// A name that is no switch, or a value it cannot take.
    package struct Unusable: Error, Hashable, CustomStringConvertible {
        package var description: String
    }

    package var json: JSON {
        [
            "goAwayAfter": goAwayAfter.map { .integer(Int64($0)) } ?? .null, "goAwayReason": .string(goAwayReason),
            "goAwayIsHard": .bool(goAwayIsHard), "dropAfter": dropAfter.map { .integer(Int64($0)) } ?? .null,
            "fallsBackToOneStream": .bool(fallsBackToOneStream), "streamLimit": .integer(Int64(streamLimit)),
            "latency": .integer(Int64(latency)), "jitter": .integer(Int64(jitter)),
            "share500": JSON.number(share500) ?? 0, "share503": JSON.number(share503) ?? 0,
            "share429": JSON.number(share429) ?? 0, "shareUnanswered": JSON.number(shareUnanswered) ?? 0,
        ]
    }

    /// Sets the switches that are named; the others stay as they are.
    package mutating func set(_ json: JSON) throws(Unusable) {
        guard let members = json.object else { throw Unusable(description: "The switches must be a JSON object.") }
        var changed = self
        for member in members {
            let value = member.value
            switch member.name {
            case "goAwayAfter": changed.goAwayAfter = try Self.count(value, member.name)
            case "dropAfter": changed.dropAfter = try Self.count(value, member.name)
            case "goAwayReason": changed.goAwayReason = try Self.need(value.string, member.name)
            case "goAwayIsHard": changed.goAwayIsHard = try Self.need(value.bool, member.name)
            case "fallsBackToOneStream": changed.fallsBackToOneStream = try Self.need(value.bool, member.name)
            case "streamLimit": changed.streamLimit = try Self.need(Self.count(value, member.name), member.name)
            case "latency": changed.latency = try Self.milliseconds(value, member.name)
            case "jitter": changed.jitter = try Self.milliseconds(value, member.name)
            case "share500": changed.share500 = try Self.share(value, member.name)
            case "share503": changed.share503 = try Self.share(value, member.name)
            case "share429": changed.share429 = try Self.share(value, member.name)
            case "shareUnanswered": changed.shareUnanswered = try Self.share(value, member.name)
            default: throw Unusable(description: "There is no switch “\(member.name)”.")
            }
        }
        self = changed
    }

    private static func need<Value>(_ value: Value?, _ name: String) throws(Unusable) -> Value {
        guard let value else { throw Unusable(description: "“\(name)” cannot take that value.") }
        return value
    }

    private static func count(_ value: JSON, _ name: String) throws(Unusable) -> Int? {
        if value.isNull { return nil }
        return try need(value.integer.flatMap { (1...1_000_000_000).contains($0) ? Int($0) : nil }, name)
    }

    private static func milliseconds(_ value: JSON, _ name: String) throws(Unusable) -> Int {
        try need(value.integer.flatMap { (0...600_000).contains($0) ? Int($0) : nil }, name)
    }

    private static func share(_ value: JSON, _ name: String) throws(Unusable) -> Double {
        try need(value.double.flatMap { (0...1).contains($0) ? $0 : nil }, name)
    }
}
