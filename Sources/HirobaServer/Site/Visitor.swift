internal import HirobaContract
internal import HirobaCore
internal import HirobaCrypto
internal import HirobaHTTP

/// Whoever looks at a page: the language, the device's secret and, after the first post, the person.
///
/// Nobody signs up. A cookie with a secret is all a browser gets at first; the secret becomes an anonymous person when
/// something is posted, and stays the same person when its session has ended.
struct Visitor: Sendable {
    let texts: SiteTexts
    /// 256 random bits that make this browser the same person each time.
    let device: String
    /// The request brought no device cookie, so no form of ours can have come from it.
    let isNew: Bool
    private(set) var session: String?
    private(set) var me: User.ID?
    /// `Set-Cookie` values for the answer.
    private(set) var cookies: [String] = []

    private let address: String
    private let userAgent: String?
    private let isSecure: Bool

    var language: Language { texts.language }

    init(_ request: HTTPRequest, isSecure: Bool) {
        let cookies = Cookies(request)
        self.isSecure = isSecure
        let language =
            cookies[Self.languageName].flatMap(Language.init(rawValue:)) ?? Self.preferredLanguage(of: request)
        texts = .of(language)
        address = request.peer.ip
        userAgent = request.headers["User-Agent"]
        session = cookies[Self.name("session", isSecure: isSecure)]
        if let known = cookies[Self.name("device", isSecure: isSecure)], Base64URL.decode(known)?.count == 32 {
            device = known
            isNew = false
        } else {
            device = Token.random256()
            isNew = true
            setCookie(Self.name("device", isSecure: isSecure), device)
        }
    }

    func caller(idempotencyKey: String? = nil) -> Caller {
        Caller(
            credential: session.map { .session(token: $0) } ?? .none, address: address, language: language,
            idempotencyKey: idempotencyKey, device: userAgent)
    }

    // MARK: Who it is

    /// Learns who the session belongs to. A dead session is replaced by a new one for the same person.
    mutating func recognise(_ core: Core) async throws(HirobaError) {
        guard session != nil, me == nil else { return }
        do {
            me = try await core.accounts.me(GetMe(), by: caller()).id
        } catch  where error.code == .unauthorized {
            try await signIn(core)
        }
    }

    /// Makes sure that there is a person, for something to be posted.
    mutating func becomeSomebody(_ core: Core) async throws(HirobaError) {
        try await recognise(core)
        if me == nil { try await signIn(core) }
    }

    private mutating func signIn(_ core: Core) async throws(HirobaError) {
        session = nil
        let signedIn = try await core.accounts.signInAnonymously(SignInAnonymously(deviceSecret: device), by: caller())
            .signedIn
        session = signedIn.token
        me = signedIn.user.id
        setCookie(Self.name("session", isSecure: isSecure), signedIn.token)
    }

    /// From now on this browser is that person.
    mutating func become(_ person: SignInLinks.Person) {
        cookies = []
        setCookie(Self.name("device", isSecure: isSecure), person.deviceSecret)
        setCookie(Self.name("session", isSecure: isSecure), person.session)
    }

    // MARK: Cookies

    mutating func choose(_ language: Language) { setCookie(Self.languageName, language.rawValue) }

    private static let languageName = "hiroba_language"

    /// Over TLS the prefix makes browsers refuse such a cookie from a neighbouring host or over plain HTTP.
    private static func name(_ name: String, isSecure: Bool) -> String {
        (isSecure ? "__Host-" : "") + "hiroba_" + name
    }

    private mutating func setCookie(_ name: String, _ value: String) {
        let secure = isSecure ? "; Secure" : ""
        cookies.append("\(name)=\(value); Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax\(secure)")
    }

    // MARK: Language

    /// The first of our languages that `Accept-Language` prefers; Japanese and English alike when it names neither.
    private static func preferredLanguage(of request: HTTPRequest) -> Language {
        var best: (language: Language, weight: Double)?
        for range in (request.headers["Accept-Language"] ?? "").split(separator: ",") {
            let (tag, parameters) = HeaderParameters.parse(range)
            guard let language = Language(rawValue: String(tag.prefix { $0 != "-" })) else { continue }
            let weight = parameters["q"].flatMap(Double.init) ?? 1
            if weight > best?.weight ?? 0 { best = (language, weight) }
        }
        return best?.language ?? .english
    }
}

/// The cookies of a request. Of a repeated name the first counts, as browsers send the more particular one first.
struct Cookies: Sendable {
    private var values: [Substring: Substring] = [:]

    init(_ request: HTTPRequest) {
        for field in request.headers.values("Cookie") {
            for pair in field.split(separator: ";") {
                guard let equals = pair.firstIndex(of: "=") else { continue }
                let name = pair[..<equals].drop { $0 == " " }
                if values[name] == nil { values[name] = pair[pair.index(after: equals)...] }
            }
        }
    }

    subscript(name: String) -> String? { values[name[...]].map(String.init) }
}
