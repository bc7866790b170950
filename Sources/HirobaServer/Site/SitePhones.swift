package import HirobaCore

internal import HirobaCrypto
internal import HirobaHTTP
internal import HirobaThreads

/// What the site does for the phones of the demo, and for nobody else: it lets their page frame it, signs their pages in,
/// and tells the stories of pushes.
package struct SitePhones: Sendable {
    /// The host, without a port, whose page shows the forum and the phones side by side. The pages of a phone have a host
    /// below it, and so their own cookies.
    package var name: String
    /// The path of that page.
    package var page: String
    package var links: SignInLinks
    /// Reads the stories.
    package var serverKey: String

    package init(name: String, page: String, links: SignInLinks, serverKey: String) {
        self.name = name
        self.page = page
        self.links = links
        self.serverKey = serverKey
    }

    func reader(in language: Language) -> Caller { Caller(credential: .serverKey(serverKey), language: language) }

    /// Who may show our pages inside theirs: the page with the phones, and nobody else.
    func frameAncestors(of request: HTTPRequest) -> String {
        let host = request.headers["Host"]?.lowercased() ?? ""
        let (own, port) = (host.prefix { $0 != ":" }, host.drop { $0 != ":" })
        guard own.hasSuffix("." + name), port.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return "'self'"
        }
        return "\(request.isSecure ? "https" : "http")://\(name)\(port)"
    }
}

/// Links that sign a browser in as somebody, on one host. Each works once, and for a minute.
package final class SignInLinks: Sendable {
    /// What a browser keeps of a person: their device's secret, and a session.
    package struct Person: Sendable, Equatable {
        package var deviceSecret: String
        package var session: String

        package init(deviceSecret: String, session: String) {
            self.deviceSecret = deviceSecret
            self.session = session
        }
    }

    private struct Ticket {
        let host: String
        let person: Person
        let until: Int64
    }

    static let lifetime: Int64 = 60_000
    private static let most = 1000

    private let clock: Clock
    private let tickets = Lock<[String: Ticket]>([:])

    package init(clock: Clock = .system) { self.clock = clock }

    /// - Parameters:
    ///   - origin: scheme, host and port of the pages that the browser shall be signed in on.
    ///   - path: where it goes on to, from the slash.
    package func link(to path: String, on origin: String, as person: Person) -> String {
        let name = Token.random256()
        let now = clock.now()
        let ticket = Ticket(host: Self.host(of: origin), person: person, until: now + Self.lifetime)
        tickets.withLock { tickets in
            tickets = tickets.filter { $0.value.until > now }
            if tickets.count < Self.most { tickets[name] = ticket }
        }
        return "\(origin)/enter/\(name)\(path)"
    }

    /// - Parameter host: what the request asked, with the port.
    func redeem(_ name: String, host: String) -> Person? {
        let now = clock.now()
        return tickets.withLock { tickets in
            guard let ticket = tickets[name], ticket.host == host.lowercased() else { return nil }
            tickets[name] = nil
            return ticket.until > now ? ticket.person : nil
        }
    }

    private static func host(of origin: String) -> String {
        origin.split(separator: "/", omittingEmptySubsequences: true).last?.lowercased() ?? ""
    }
}
