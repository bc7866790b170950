/// Reads `text/event-stream` (HTML Living Standard, section 9.2.6) in whatever pieces it comes.
struct EventStreamParser {
    /// One event.
    struct Event: Equatable {
        var id: String?
        var name: String
        var data: String
    }

    /// The stream sent a line that is too long to be one.
    struct TooLong: Error {}

    /// The wait before the next connection, if the server named one.
    private(set) var retryMilliseconds: Int?

    /// The last id seen, which stays in force until another comes.
    private var lastID: String?
    private var line: [UInt8] = []
    private var name = ""
    private var data: [String] = []
    private var afterReturn = false
    private var isFirstLine = true
    private let longestLine: Int

    /// - Parameter longestLine: bytes of a line above which the stream is given up: no event of ours comes near it.
    init(longestLine: Int = 4 << 20) { self.longestLine = longestLine }

    /// Takes the next piece and answers the events that it completes.
    mutating func take(_ bytes: [UInt8]) throws(TooLong) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            switch byte {
            case 0x0A where afterReturn: afterReturn = false
            case 0x0A, 0x0D:
                afterReturn = byte == 0x0D
                if let event = endLine() { events.append(event) }
            default:
                afterReturn = false
                line.append(byte)
                guard line.count <= longestLine else { throw TooLong() }
            }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        var text = String(decoding: line, as: UTF8.self)
        line.removeAll(keepingCapacity: true)
        if isFirstLine {
            isFirstLine = false
            if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        }
        if text.isEmpty { return dispatch() }
        // By scalars: in Swift a combining mark after the colon would make one character with it.
        let scalars = text.unicodeScalars
        let colon = scalars.firstIndex(of: ":") ?? scalars.endIndex
        var value = scalars[colon...].dropFirst()
        if value.first == " " { value.removeFirst() }
        switch String(scalars[..<colon]) {
        case "event": name = String(value)
        case "data": data.append(String(value))
        case "id": if !value.contains("\0") { lastID = String(value) }
        case "retry": if value.allSatisfy({ ("0"..."9").contains($0) }) { retryMilliseconds = Int(String(value)) }
        default: break  // Comments have an empty name; other names are for the future.
        }
        return nil
    }

    private mutating func dispatch() -> Event? {
        defer {
            name = ""
            data = []
        }
        guard !data.isEmpty else { return nil }
        return Event(id: lastID, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
    }
}
