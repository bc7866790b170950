import Foundation
import HirobaClient
import HirobaJSON
import HirobaThreads
import Testing

@testable import MarvelAPI

/// The example of Examples/Marvel against the real `marvel-server`, which the build puts beside the tests.
struct MarvelAPITests {
    private let server: MarvelServer
    private let client: APIClient<APITypes>

    init() throws {
        server = try MarvelServer()
        client = APIClient(try APITypes(server: server.address, publicKey: "1234", privateKey: "abcd"))
    }

    // MARK: The calls

    @Test("Characters are listed")
    func characters() async throws {
        let answer: Envelope<MarvelCharacter> = try await client.send(APITypes.Character.list(.init()))
        #expect(answer.code == 200)
        #expect(answer.status == "Ok")
        #expect(answer.attributionText.contains("invented"))
        #expect(answer.data.offset == 0)
        #expect(answer.data.limit == 20)
        #expect(answer.data.total == 54)
        #expect(answer.data.count == 20)
        #expect(answer.data.results.count == 20)
        let first = try #require(answer.data.results.first)
        #expect(first.id == 1000)
        #expect(first.name == "Captain Dummy")
        #expect(first.description == "")
        // 2001-01-01T08:46:00-0500
        #expect(first.modified == Date(timeIntervalSince1970: 978_356_760))
        #expect(first.thumbnail.address("portrait_medium") == "http://localhost/pictures/1000/portrait_medium.jpg")
        #expect(answer.data.results[1].comics.available == 1)
        #expect(answer.data.results[1].comics.items.map(\.name) == ["The Test of Captain Example #1"])
    }

    @Test("The comics of one character are listed")
    func comicsOfCharacter() async throws {
        let answer: Envelope<MarvelComic> = try await client.send(
            APITypes.Character.comics(.init(id: 1003, orderBy: "-issueNumber")))
        #expect(answer.data.total == 3)
        #expect(answer.data.results.map(\.issueNumber) == [2.5, 2, 1])
        #expect(answer.data.results.map { $0.description == nil } == [false, false, true])
        #expect(answer.data.results[0].prices.map(\.price) == [3.99, 0])
    }

    @Test("Comics are listed")
    func comics() async throws {
        let answer: Envelope<MarvelComic> = try await client.send(
            APITypes.Comic.list(.init(titleStartsWith: "the test of captain", limit: 2)))
        #expect(
            answer.data.results.map(\.title) == ["The Test of Captain Example #1", "The Test of Captain Foobar #1"])
        let ofTwo: Envelope<MarvelComic> = try await client.send(APITypes.Comic.list(.init(characters: [1001, 1002])))
        #expect(ofTwo.data.total == 3)
    }

    @Test("Events are listed")
    func events() async throws {
        let answer: Envelope<MarvelEvent> = try await client.send(APITypes.Event.list(.init(orderBy: "-modified")))
        #expect(answer.data.results.map(\.id) == [307, 306, 305, 304, 303, 302, 301])
        #expect(answer.data.results.first?.title == "Great Rehearsal 7")
    }

    @Test("Where each call is a structure its type names the answer, through the same function")
    func structures() async throws {
        let list = try await client.send(ListCharacters(nameStartsWith: "doctor ", limit: 1, offset: 1))
        #expect(list.data.results.map(\.name) == ["Doctor Example"])
        let one = try await client.send(GetCharacter(id: list.data.results[0].id))
        #expect(one.data.results.map(\.name) == ["Doctor Example"])
        #expect(one.data.total == 1)
        let same: Envelope<MarvelCharacter> = try await client.send(
            APITypes.Character.list(.init(nameStartsWith: "doctor ", limit: 1, offset: 1)))
        #expect(same.etag == list.etag)
    }

    @Test("One more call is one declaration and no other line")
    func oneMoreCall() async throws {
        struct GetEvent: APICall, Encodable {
            typealias API = APITypes
            typealias Answer = Envelope<MarvelEvent>
            var path: String { "events/{id}" }
            var id: Int
        }
        let event = try await client.send(GetEvent(id: 301))
        #expect(event.data.results.map(\.title) == ["Great Rehearsal 1"])
    }

    @Test("What a request asks reaches the server: names, dates, ids, order, part")
    func filters() async throws {
        func names(_ request: CharacterListRequest) async throws -> [String] {
            let answer: Envelope<MarvelCharacter> = try await client.send(APITypes.Character.list(request))
            return answer.data.results.map(\.name)
        }
        #expect(try await names(.init(name: "The Amazing Quux")) == ["The Amazing Quux"])
        #expect(
            try await names(.init(nameStartsWith: "The Amazing ", orderBy: "-name", limit: 1)) == [
                "The Amazing Specimen"
            ])
        #expect(try await names(.init(limit: 2, offset: 53)) == ["The Amazing Specimen"])
        #expect(try await names(.init(comics: [20_000, 20_001])) == ["Captain Example", "Captain Foobar"])
        // 2020-01-01
        let recent = try await names(.init(modifiedSince: Date(timeIntervalSince1970: 1_577_836_800)))
        #expect(recent.count == 2)
    }

    // MARK: The request

    @Test(
        "Fields of a request go to the path or, escaped, to the query; what is nil is absent; the signature comes last")
    func addresses() async throws {
        let api = try APITypes(server: "https://comics.example", publicKey: "1234", privateKey: "abcd") { "1" }
        let recorder = Recorder()
        let client = APIClient(api, transport: recorder)
        let keys = "ts=1&apikey=1234&hash=ffd275c5130566a2916217b101f26150"
        let base = "https://comics.example/v1/public/"
        _ = try? await client.send(APITypes.Character.list(.init()), answering: Envelope<MarvelCharacter>.self)
        #expect(recorder.last == "\(base)characters?\(keys)")
        _ = try? await client.send(
            APITypes.Character.comics(.init(id: 7, limit: 5)), answering: Envelope<MarvelComic>.self)
        #expect(recorder.last == "\(base)characters/7/comics?limit=5&\(keys)")
        _ = try? await client.send(
            APITypes.Character.list(
                .init(nameStartsWith: "a&b=ü", modifiedSince: Date(timeIntervalSince1970: 0), comics: [1, 2])),
            answering: Envelope<MarvelCharacter>.self)
        #expect(
            recorder.last
                == "\(base)characters?nameStartsWith=a%26b%3D%C3%BC&modifiedSince=1970-01-01T00%3A00%3A00.000Z"
                + "&comics=1,2&\(keys)")
    }

    @Test(
        "MD5 matches the examples of RFC 1321",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
        ])
    func md5(text: String, hash: String) {
        #expect(MD5.hex(text) == hash)
    }

    @Test(
        "The base address is HTTPS, unless the server is this machine",
        arguments: ["http://comics.example", "http://127.0.0.1.example", "ftp://127.0.0.1", "comics.example", ""])
    func insecureAddresses(server: String) {
        #expect(throws: ClientError.self) { try APITypes(server: server, publicKey: "1", privateKey: "2") }
    }

    // MARK: What can go wrong

    @Test("Nobody answers: a network error")
    func network() async throws {
        // Nothing listens on the port of a server that is gone.
        server.end()
        await #expect {
            let _: Envelope<MarvelEvent> = try await client.send(APITypes.Event.list(.init()))
        } throws: { error in
            guard case ClientError.network(let failure) = error else { return false }
            return failure.kind == .unreachable
        }
    }

    @Test("Another answer than the one that is named: a decoding error, with the field at fault")
    func decoding() async throws {
        await #expect {
            let _: Envelope<MarvelComic> = try await client.send(APITypes.Event.list(.init()))
        } throws: { error in
            guard case ClientError.decoding(let error, status: 200) = error else { return false }
            return error.field == "data.results[0].issueNumber"
        }
    }

    @Test("Wrong keys: an API error whose code is a text and whose sentence is in `message`")
    func wrongKeys() async throws {
        let invalid = "That hash, timestamp and key combination is invalid."
        for (publicKey, privateKey, sentence) in [
            ("4321", "abcd", "The passed API key is invalid."), ("", "abcd", "The passed API key is invalid."),
            ("1234", "dcba", invalid),
        ] {
            let api = try APITypes(server: server.address, publicKey: publicKey, privateKey: privateKey)
            let failure = await failure { try await APIClient(api).send(ListCharacters()) }
            #expect(failure?.status == 401)
            #expect(failure?.code == "InvalidCredentials")
            #expect(failure?.sentence == sentence)
        }
        let api = try APITypes(server: server.address, publicKey: "1234", privateKey: "abcd") { "" }
        let failure = await failure { try await APIClient(api).send(ListCharacters()) }
        #expect(failure?.status == 401)
        #expect(failure?.sentence == invalid)
    }

    @Test(
        "Impossible wishes: an API error whose code is a number and whose sentence is in `status`",
        arguments: [
            (CharacterListRequest(limit: 101), "You may not request more than 100 items."),
            (CharacterListRequest(limit: 0), "You must pass an integer limit greater than 0."),
            (CharacterListRequest(offset: -1), "You must pass an integer offset of 0 or more."),
            (CharacterListRequest(nameStartsWith: ""), "nameStartsWith cannot be blank if it is set"),
            (CharacterListRequest(orderBy: "name,-size"), "-size is not a valid ordering parameter."),
            (CharacterListRequest(comics: Array(1...11)), "You may not submit more than 10 comics ids."),
            (CharacterListRequest(comics: []), nil),
        ])
    func impossible(request: CharacterListRequest, sentence: String?) async throws {
        let failure = await failure {
            try await client.send(APITypes.Character.list(request), answering: Envelope<MarvelCharacter>.self)
        }
        // An empty list is absent.
        #expect(failure?.status == (sentence == nil ? nil : 409))
        #expect(failure?.code == (sentence == nil ? nil : "409"))
        #expect(failure?.sentence == sentence)
    }

    @Test("Nothing has this id: an API error")
    func unknown() async throws {
        let failure = await failure { try await client.send(GetCharacter(id: 1)) }
        #expect(failure?.status == 404)
        #expect(failure?.code == "404")
        #expect(failure?.sentence == "We couldn't find that character")
        let comics = await self.failure {
            try await client.send(APITypes.Character.comics(.init(id: 1)), answering: Envelope<MarvelComic>.self)
        }
        #expect(comics?.status == 404)
    }

    // MARK: The server, without our client

    @Test(
        "The server refuses what the service refused",
        arguments: [
            ("GET", "characters", 409, "You must provide a user key."),
            ("GET", "characters?apikey=1234&ts=1", 409, "You must provide a hash."),
            ("GET", "characters?apikey=1234&hash=1", 409, "You must provide a timestamp."),
            ("GET", "characters?KEYS&color=red", 409, "We don't recognize the parameter color"),
            ("GET", "characters?KEYS&limit=many", 409, "You must pass an integer limit greater than 0."),
            ("GET", "characters?KEYS&comics=a,b", 409, "You must pass at least one valid comics id."),
            ("GET", "comics/1?KEYS", 404, "We couldn't find that comic"),
            ("GET", "events/1?KEYS", 404, "We couldn't find that event"),
            ("GET", "stories?KEYS", 404, "There is nothing here."),
            ("GET", "characters?apikey=%FF", 409, "The query is not well formed."),
            ("POST", "characters?KEYS", 405, "Only GET is supported."),
        ])
    func refusals(method: String, target: String, status: Int, sentence: String) async throws {
        let answer = try await raw(method, target)
        #expect(answer.status == status)
        #expect(answer.body.contains("\"\(sentence)\""))
    }

    @Test("An answer that is known already is not sent again")
    func notModified() async throws {
        let first = try await raw("GET", "events?KEYS")
        let etag = try #require(first.headers["ETag"])
        #expect(first.body.contains("\"etag\":\"\(etag)\""))
        let second = try await raw("GET", "events?KEYS", headers: HeaderFields([("If-None-Match", etag)]))
        #expect(second.status == 304)
        #expect(second.body == "")
        let other = try await raw("GET", "comics?KEYS", headers: HeaderFields([("If-None-Match", etag)]))
        #expect(other.status == 200)
    }

    // MARK: The app

    @Test("The app lists characters, their comics, comics and events")
    func app() throws {
        let output = try run("marvel", [server.address])
        #expect(output.contains("Captain Example [\"The Test of Captain Example #1\"]\n"))
        #expect(output.contains("New: "))
        #expect(output.contains("Event: Great Rehearsal 1\n"))
        #expect(output.hasSuffix("Not affiliated with anyone who draws comics.\n"))
    }

    @Test("Without its server the app says so")
    func appAlone() throws {
        server.end()
        let output = try run("marvel", [server.address])
        #expect(output.hasPrefix("No answer from \(server.address): is marvel-server running?"))
    }

    // MARK: Helpers

    private func failure<Answer>(_ body: () async throws -> Answer) async -> APIFailure? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? ClientError)?.failure
        }
    }

    private func raw(
        _ method: String, _ target: String, headers: HeaderFields = HeaderFields()
    ) async throws -> (status: Int, headers: HeaderFields, body: String) {
        let keys = "ts=1&apikey=1234&hash=ffd275c5130566a2916217b101f26150"
        let address = "\(server.address)/v1/public/\(target.replacing("KEYS", with: keys))"
        let answer = try await URLSessionTransport().start(
            TransportRequest(method: method, url: try #require(URL(string: address)), headers: headers))
        var body: [UInt8] = []
        for try await part in answer.body { body += part }
        return (answer.status, answer.headers, String(decoding: body, as: UTF8.self))
    }

    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let child = try ChildProcess(
            executable: ChildProcess.besideThisProgram(program), arguments: arguments)
        return child.output { _ in false }
    }
}

/// A `marvel-server` on a free port of this machine, until this goes away.
private final class MarvelServer: Sendable {
    private let process: ChildProcess
    let address: String

    init() throws {
        process = try ChildProcess(
            executable: ChildProcess.besideThisProgram("marvel-server"), arguments: ["--port", "0"])
        address = String(process.output { $0.last == UInt8(ascii: "\n") }.dropLast())
        try #require(address.hasPrefix("http://127.0.0.1:"))
    }

    func end() { process.end() }
}

extension ChildProcess {
    /// What it writes until it ends, or until it is enough.
    fileprivate func output(until isEnough: ([UInt8]) -> Bool) -> String {
        let deadline = ContinuousClock.now + .seconds(30)
        var bytes: [UInt8] = []
        while !isEnough(bytes), let more = try? read(1, until: deadline) { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Remembers where requests go, and sends none.
private final class Recorder: Transport {
    private let address = Lock<String?>(nil)

    var last: String? { address.withLock { $0 } }

    func start(_ request: TransportRequest) async throws(ClientError) -> TransportAnswer {
        address.withLock { $0 = request.url.absoluteString }
        throw .cancelled
    }
}
