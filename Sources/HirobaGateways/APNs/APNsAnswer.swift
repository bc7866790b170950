import HirobaHTTP
import HirobaJSON

/// What Apple's gateway said to one push.
struct APNsAnswer: Sendable, Hashable {
    let status: Int
    /// `nil` when there is none that can be read.
    let reason: String?
    /// When the gateway last knew that the token was dead: milliseconds since 1970, with status 410 only.
    let timestamp: Int64?
}

extension APNsAnswer {
    init(_ answer: HTTP2Answer) {
        let body = answer.body.isEmpty ? nil : try? JSON.parse(answer.body)
        self.init(
            status: answer.status, reason: body?["reason"]?.string, timestamp: body?["timestamp"]?.integer)
    }

    /// The reason with its status, for people.
    var description: String { reason.map { "\(status) \($0)" } ?? "\(status) without a reason" }
}
