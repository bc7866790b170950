import HirobaCrypto
import HirobaJSON
import Testing

@testable import HirobaGateways

@Suite struct APNsProviderTokenTests {
    private let start: Int64 = 1_800_000_000
    private func minutes(_ count: Int64) -> Int64 { start + count * 60 }
    private func made(at time: Int64) -> String { "made at \(time)" }

    /// `#expect` calls no mutating methods.
    private final class Token {
        private var token = APNsProviderToken { "made at \($0)" }

        private var numbers: [String: Int] = [:]

        func token(at now: Int64) -> String {
            let made = token.token(at: now)
            numbers[made.text] = made.number
            return made.text
        }
        func hasExpired(_ text: String, at now: Int64) -> APNsProviderToken.AfterExpiry {
            token.hasExpired(numbers[text] ?? 0, at: now)
        }
        func cameTooSoon(_ text: String, at now: Int64) { token.cameTooSoon(numbers[text] ?? 0, at: now) }
    }

    @Test("one token serves 45 minutes, and then the next")
    func refresh() {
        let token = Token()
        for minute: Int64 in [0, 1, 19, 20, 44] {
            #expect(token.token(at: minutes(minute)) == made(at: start), "minute \(minute)")
        }
        #expect(token.token(at: minutes(45)) == made(at: minutes(45)))
        #expect(token.token(at: minutes(46)) == made(at: minutes(45)))
        #expect(token.token(at: minutes(300)) == made(at: minutes(300)))
    }

    @Test("a clock that went back makes a token stale, a small correction does not")
    func backwards() {
        let token = Token()
        _ = token.token(at: start)
        #expect(token.token(at: start - 60) == made(at: start))
        #expect(token.token(at: start - 61) == made(at: start - 61))
    }

    @Test("of many requests that a token expired for, the first makes the next one")
    func expired() {
        let token = Token()
        let old = token.token(at: start)
        #expect(token.hasExpired(old, at: minutes(20)) == .sendAgain)
        #expect(token.token(at: minutes(20)) == made(at: minutes(20)))
        #expect(token.hasExpired(old, at: minutes(21)) == .sendAgain)
        #expect(token.hasExpired(old, at: minutes(25)) == .sendAgain)
        #expect(token.token(at: minutes(26)) == made(at: minutes(20)), "not one for each")
    }

    @Test("a token younger than 20 minutes cannot have expired: a clock is wrong, and no new one is made")
    func young() {
        let token = Token()
        let first = token.token(at: start)
        #expect(token.hasExpired(first, at: minutes(20) - 1) == .clockIsWrong)
        #expect(token.token(at: minutes(20)) == first)
    }

    @Test("after a token that came too soon the one before serves, and none is made for 20 minutes")
    func tooSoon() {
        let token = Token()
        let first = token.token(at: start)
        let second = token.token(at: minutes(45))
        token.cameTooSoon(second, at: minutes(46))
        #expect(token.token(at: minutes(47)) == first)
        #expect(token.token(at: minutes(59)) == first)
        #expect(token.token(at: minutes(60)) == made(at: minutes(60)), "an hour is the end, whatever was said")
    }

    @Test("with none before, the token stays and is kept longer")
    func tooSoonAlone() {
        let token = Token()
        let first = token.token(at: start)
        token.cameTooSoon(first, at: minutes(30))
        #expect(token.token(at: minutes(49)) == first)
        #expect(token.token(at: minutes(50)) == made(at: minutes(50)))
    }

    @Test("a complaint about a token that is no longer used changes nothing")
    func late() {
        let token = Token()
        let first = token.token(at: start)
        let second = token.token(at: minutes(45))
        token.cameTooSoon(first, at: minutes(46))
        #expect(token.token(at: minutes(47)) == second)
    }

    @Test("the token says whose it is and since when, as Apple wants it")
    func text() throws {
        let key = ES256.PrivateKey.generate()
        let text = APNsKey(id: "ABC123DEFG", team: "DEF123GHIJ", key: key).token(at: 1_800_000_000)
        let token = try #require(JSONWebToken(text))
        #expect(try JSON.parse(token.header) == ["alg": "ES256", "kid": "ABC123DEFG"])
        #expect(try JSON.parse(token.claims) == ["iss": "DEF123GHIJ", "iat": 1_800_000_000])
        #expect(token.isSigned(by: key.publicKey))
    }
}
