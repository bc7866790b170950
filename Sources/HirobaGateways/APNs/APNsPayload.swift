package import HirobaCore
import HirobaJSON

/// A message as the JSON that Apple's gateway takes, cut so that it fits.
package struct APNsPayload: Sendable, Hashable {
    /// Even without its texts the message is over the limit.
    package struct TooLarge: Error, Hashable {}

    package let bytes: [UInt8]
    /// Whether a text was cut.
    package let isCut: Bool

    /// The body is cut first, then the subtitle, then the title: at the end of a character as people see it, with an
    /// ellipsis.
    package init(_ message: PushMessage) throws(TooLarge) {
        var bytes: [UInt8] = []
        isCut = try Self.append(message, to: &bytes)
        self.bytes = bytes
    }

    /// Appends the payload to what is there.
    /// - Returns: whether a text was cut.
    static func append(_ message: PushMessage, to bytes: inout [UInt8]) throws(TooLarge) -> Bool {
        let start = bytes.count
        write(message, to: &bytes)
        guard bytes.count - start > message.kind.mostPayload else { return false }
        bytes.removeSubrange(start...)
        write(try cut(message), to: &bytes)
        return true
    }

    private static func cut(_ message: PushMessage) throws(TooLarge) -> PushMessage {
        let most = message.kind.mostPayload
        var message = message
        for text in [\PushMessage.body, \.subtitle, \.title] {
            guard let whole = message[keyPath: text] else { continue }
            message[keyPath: text] = ellipsis
            var bytes: [UInt8] = []
            write(message, to: &bytes)
            guard bytes.count <= most else { continue }
            message[keyPath: text] = cut(whole, to: most - bytes.count)
            return message
        }
        throw TooLarge()
    }

    private static let ellipsis = "…"

    /// As many characters as take up no more than `room` bytes of JSON, and an ellipsis.
    private static func cut(_ text: String, to room: Int) -> String {
        var room = room
        var end = text.startIndex
        for index in text.indices {
            // Two of the bytes are quotation marks.
            room -= JSON.string(String(text[index])).bytes().count - 2
            if room < 0 { break }
            end = text.index(after: index)
        }
        while end > text.startIndex, text[text.index(before: end)].isWhitespace { end = text.index(before: end) }
        return text[..<end] + ellipsis
    }

    private static func write(_ message: PushMessage, to bytes: inout [UInt8]) {
        var writer = JSONWriter(bytes)
        // So that there is one owner, and nothing is copied.
        bytes = []
        writer.beginObject()
        writer.begin(#""aps":"#)
        writer.beginObject()
        switch message.kind {
        case .alert: writeAlert(message, &writer)
        case .background:
            writer.begin(#""content-available":"#)
            writer.integer(1)
        case .voip: break
        }
        writer.endObject()
        // Whatever is not Apple's stands beside `aps`: inside it is ignored.
        writer.member(#""link":"#, message.link)
        writer.member(#""picture":"#, message.picture)
        for member in message.data where !isReserved(member.name) {
            writer.name(member.name)
            writer.value(member.value)
        }
        writer.endObject()
        bytes = writer.bytes
    }

    private static func isReserved(_ name: String) -> Bool { name == "aps" || name == "link" || name == "picture" }

    private static func writeAlert(_ message: PushMessage, _ writer: inout JSONWriter) {
        if message.title != nil || message.subtitle != nil || message.body != nil {
            writer.begin(#""alert":"#)
            writer.beginObject()
            writer.member(#""title":"#, message.title)
            writer.member(#""subtitle":"#, message.subtitle)
            writer.member(#""body":"#, message.body)
            writer.endObject()
        }
        if let badge = message.badge {
            writer.begin(#""badge":"#)
            writer.integer(badge)
        }
        writer.member(#""sound":"#, message.sound)
        writer.member(#""thread-id":"#, message.thread)
        writer.member(#""category":"#, message.category)
        if message.picture != nil {
            // Lets the app's service extension fetch the picture before the notification is shown.
            writer.begin(#""mutable-content":"#)
            writer.integer(1)
        }
    }
}

extension JSONWriter {
    /// Begins a member whose name is quoted already.
    fileprivate mutating func begin(_ name: String) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: name.utf8)
    }

    fileprivate mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        begin(name)
        string(value)
    }
}
