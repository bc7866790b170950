package import HirobaCrypto
import HirobaJSON

/// The key that Apple gives to a team: a `.p8` file and two names.
package struct APNsKey: Sendable {
    package let id: String
    package let team: String
    package let key: ES256.PrivateKey

    package init(id: String, team: String, key: ES256.PrivateKey) {
        self.id = id
        self.team = team
        self.key = key
    }

    /// - Parameter time: seconds since 1970.
    func token(at time: Int64) -> String {
        var header = JSONWriter()
        header.beginObject()
        header.name("alg")
        header.string("ES256")
        header.name("kid")
        header.string(id)
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.name("iss")
        claims.string(team)
        claims.name("iat")
        claims.integer(time)
        claims.endObject()
        return JSONWebToken(header: header.bytes, claims: claims.bytes, key: key).text
    }
}

/// One key's provider token: the whole process uses the same, for Apple takes a new one no oftener than every 20 minutes
/// and none that is older than 60. Times are seconds since 1970.
struct APNsProviderToken {
    struct Token: Hashable {
        let text: String
        /// Which of this key's tokens it is, from 1.
        let number: Int
        fileprivate let time: Int64

        fileprivate func age(at now: Int64) -> Int64 { now - time }
    }

    /// Between the 20 and the 60 minutes, far from both.
    static let refreshAge: Int64 = 45 * 60
    static let leastAge: Int64 = 20 * 60
    static let longestLife: Int64 = 60 * 60
    /// A clock may be set right by a little without anything being wrong.
    static let tolerance: Int64 = 60

    private let make: (Int64) -> String
    private var current: Token?
    private var before: Token?
    /// No new token until then.
    private var heldUntil: Int64 = .min
    private var count = 0

    init(make: @escaping (Int64) -> String) { self.make = make }

    /// The token to send with.
    mutating func token(at now: Int64) -> Token {
        guard let current else { return renew(now) }
        let age = current.age(at: now)
        // A clock that went back makes the token one from the future, which Apple refuses in the end.
        if age < -Self.tolerance { return renew(now) }
        if age >= Self.longestLife { return renew(now) }
        if age >= Self.refreshAge, now >= heldUntil { return renew(now) }
        return current
    }

    enum AfterExpiry {
        /// There is a newer token than the one that was refused.
        case sendAgain
        /// The token is young. Either Apple's clock is wrong or ours is.
        case clockIsWrong
    }

    /// Apple says that the token with this number has expired. Many requests say so at once; only the first makes a new one.
    mutating func hasExpired(_ number: Int, at now: Int64) -> AfterExpiry {
        guard let current, current.number == number else { return .sendAgain }
        if (0..<Self.leastAge).contains(current.age(at: now)) { return .clockIsWrong }
        _ = renew(now)
        return .sendAgain
    }

    /// Apple says that the token with this number came too soon after another.
    mutating func cameTooSoon(_ number: Int, at now: Int64) {
        heldUntil = now + Self.leastAge
        guard let current, current.number == number, let before, before.age(at: now) < Self.longestLife else { return }
        self.current = before
        self.before = nil
    }

    private mutating func renew(_ now: Int64) -> Token {
        count += 1
        let made = Token(text: make(now), number: count, time: now)
        before = current
        current = made
        return made
    }
}
