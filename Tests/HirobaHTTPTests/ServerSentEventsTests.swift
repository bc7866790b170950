import HirobaHTTP
import Testing

@Suite struct ServerSentEventsTests {
    private func text(_ event: ServerSentEvent) -> String { String(decoding: event.encoded, as: UTF8.self) }

    @Test("every field has a line of its own and a blank line ends the event")
    func fields() {
        let event = ServerSentEvent(id: "7", event: "comment.created", data: "{}", retry: .milliseconds(1500))
        #expect(text(event) == "id: 7\nevent: comment.created\nretry: 1500\ndata: {}\n\n")
    }

    @Test("each line of data becomes a data line, whatever ended it")
    func lines() {
        #expect(text(ServerSentEvent(data: "a\nb\r\nc\rd")) == "data: a\ndata: b\ndata: c\ndata: d\n\n")
        #expect(text(ServerSentEvent(data: "a\n\nb")) == "data: a\ndata: \ndata: b\n\n")
    }

    @Test("an id or a name cannot smuggle in a field")
    func injection() {
        #expect(text(ServerSentEvent(id: "1\ndata: x", event: "a\rb")) == "id: 1 data: x\nevent: a b\ndata: \n\n")
    }
}
