import HirobaContract
import Testing

@Suite("The version of a client")
struct ClientVersionTests {
    @Test("is read as it is written")
    func header() {
        #expect(ClientVersion(header: "swift/1.0") == ClientVersion.current)
        #expect(ClientVersion.current.description == "swift/1.0")
        for text in [
            "", "swift", "swift/", "/1.0", "swift/1", "swift/1.0.0", "swift/a.b", "swift/-1.0", "a/b/1.0", "swift/1.",
        ] {
            #expect(ClientVersion(header: text) == nil, "\(text)")
        }
    }

    @Test("is compared number by number, with its own kind only")
    func order() {
        let oldest = ClientVersion(name: "swift", major: 2, minor: 3)
        for (major, minor, isOlder) in [(1, 9, true), (2, 2, true), (2, 3, false), (2, 10, false), (3, 0, false)] {
            #expect(ClientVersion(name: "swift", major: major, minor: minor).isOlder(than: oldest) == isOlder)
        }
        #expect(!ClientVersion(name: "web", major: 1, minor: 0).isOlder(than: oldest))
    }
}
