internal import HirobaHTTP

/// The languages of the page.
enum PhonesLanguage: String, Sendable, CaseIterable {
    case ja
    case en

    /// The one that the forum's pages use, so that a choice counts for both.
    static let cookie = "hiroba_language"

    /// The chosen one, or the first of ours that the browser prefers.
    init(of request: HTTPRequest) {
        for pair in (request.headers["Cookie"] ?? "").split(separator: ";") {
            let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if halves.count == 2, halves[0] == Self.cookie, let language = Self(rawValue: String(halves[1])) {
                self = language
                return
            }
        }
        var best: (language: Self, weight: Double)?
        for range in (request.headers["Accept-Language"] ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " } }
            guard let language = parts.first.flatMap({ Self(rawValue: String($0.lowercased().prefix(2))) }) else {
                continue
            }
            let weight = parts.dropFirst().first.flatMap { Double($0.dropFirst(2)) } ?? 1
            if weight > best?.weight ?? 0 { best = (language, weight) }
        }
        self = best?.language ?? .ja
    }
}
