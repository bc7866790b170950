package import HirobaContract
internal import HirobaStore

extension Push {
    /// The device belongs to the caller from now on, or to nobody when they are nobody.
    ///
    /// A token is on one device of an app: whichever had it before has none now.
    /// - Throws: `forbidden` for a device on which somebody else is signed in, unless the call shows its token.
    package func register(_ call: PutDevice, by caller: Caller) async throws(HirobaError) -> Device {
        let registration = try Registration(call)
        let now = desk.clock.now()
        let most = desk.limits.devicesPerPerson
        return try await desk.write(caller) { db, visitor in
            let earlier = try StoredDevice.find(registration.id, in: db, at: now)
            if let owner = earlier?.user, owner != visitor.member?.user.rawValue {
                guard let token = registration.token, token == earlier?.token else { throw HirobaError.forbidden }
            }
            try registration.store(over: earlier, session: visitor.member?.session.id, in: db, at: now)
            if let user = visitor.member?.user { try Self.detachOldest(of: user, keeping: most, in: db, at: now) }
            guard let stored = try StoredDevice.find(registration.id, in: db, at: now) else {
                throw HirobaError.internal("a device is gone after it was stored")
            }
            return stored.device(in: caller.language)
        }
    }

    /// Tells what became of a push on the phone. The first report counts.
    package func report(_ call: ReportOpened, by caller: Caller) async throws(HirobaError) {
        guard ReportOpened.Event.known.contains(call.event) else {
            throw .invalid(
                "event", Sentence(en: "Only \"opened\" is known here.", ja: "指定できるのは「opened」だけです。"))
        }
        let now = desk.clock.now()
        let (delivery, device) = (call.push.rawValue, call.device.rawValue)
        try await desk.write(caller) { db, _ in
            let known = try db.first(
                "SELECT 1 FROM deliveries WHERE id = \(delivery) AND device_id = \(device)"
            ) { _ in true }
            guard known == true else { throw HirobaError.notFound }
            try db.run("UPDATE deliveries SET opened_at = \(now) WHERE id = \(delivery) AND opened_at IS NULL")
        }
    }

    package func devices(_ call: ListDevices, by caller: Caller) async throws(HirobaError) -> Page<Device> {
        let request = try PageRequest("devices", limit: call.limit, after: call.after, desk.limits)
        let now = desk.clock.now()
        return try await desk.read(caller) { db, visitor in
            try visitor.mustHold(.push)
            let devices = try db.rows(
                "\(StoredDevice.select(at: now)) WHERE 1 = 1\(request.rows(of: "d"))"
            ) { row in try StoredDevice(row) }
            let page = request.page(devices) { Cursor(createdAt: $0.createdAt, id: $0.id) }
            return Page(items: page.items.map { $0.device(in: caller.language) }, next: page.next)
        }
    }

    /// Somebody with more devices than people have would have every push multiplied.
    private static func detachOldest(
        of user: User.ID, keeping most: Int, in db: Transaction, at now: Int64
    ) throws {
        try db.run(
            """
            UPDATE devices SET session_id = NULL WHERE id IN (
                SELECT d.id FROM devices d JOIN sessions s ON s.id = d.session_id
                WHERE s.user_id = \(user.rawValue) ORDER BY d.updated_at DESC, d.id DESC LIMIT 1000 OFFSET \(most))
            """)
    }
}

/// What an app tells of its device, checked.
private struct Registration: Sendable {
    let id: String
    let token: String?
    let platform: DevicePlatform
    let environment: PushAddress.Environment
    let app: String
    let permission: PushPermission
    let language: String?
    let timeZone: String?
    let appVersion: String?

    init(_ call: PutDevice) throws(HirobaError) {
        id = call.device.rawValue
        guard (8...64).contains(id.utf8.count), ID<Device>.isWellFormed(id) else {
            throw .invalid(
                "device",
                Sentence(
                    en: "The id of a device has 8 to 64 letters, digits, - and _.",
                    ja: "デバイスのIDは英数字と-、_の8〜64文字です。"))
        }
        token =
            if let text = call.token {
                try Self.token(text)
            } else {
                nil
            }
        platform = try Self.known(call.platform, "platform")
        guard let environment = PushAddress.Environment(rawValue: call.environment.rawValue) else {
            throw Self.unknown("environment", PushEnvironment.known)
        }
        self.environment = environment
        permission = try Self.known(call.permission, "permission")
        guard
            let app = Self.plain(call.app, most: 255, besides: ".-_"), !app.hasPrefix("."), !app.hasPrefix("-")
        else {
            throw .invalid(
                "app", Sentence(en: "This is not the bundle identifier of an app.", ja: "アプリのバンドルIDではありません。"))
        }
        self.app = app
        language = try Self.code(call.language, "language", most: 35)
        timeZone = try Self.code(call.timeZone, "timeZone", most: 64)
        appVersion =
            if let text = call.appVersion {
                try Texts.line(text, field: "appVersion", most: 50)
            } else {
                nil
            }
    }

    /// In small letters, so that the same token is the same text. Its length is the gateway's affair: it has changed
    /// before.
    private static func token(_ text: String) throws(HirobaError) -> String {
        let isHex = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
                UInt8(ascii: "a")...UInt8(ascii: "f"):
                true
            default: false
            }
        }
        guard (2...400).contains(text.utf8.count), text.utf8.count.isMultiple(of: 2), isHex else {
            throw .invalid(
                "token",
                Sentence(
                    en: "A token is an even number of hexadecimal digits, 2 to 400.",
                    ja: "トークンは16進数で、2〜400桁の偶数桁です。"))
        }
        return text.lowercased()
    }

    private static func known<Word: OpenText>(_ word: Word, _ field: String) throws(HirobaError) -> Word {
        guard Word.known.contains(word) else { throw unknown(field, Word.known) }
        return word
    }

    private static func unknown(_ field: String, _ words: [some OpenText]) -> HirobaError {
        let list = words.map(\.rawValue)
        return .invalid(
            field,
            Sentence(
                en: "Choose one of: \(list.joined(separator: ", ")).",
                ja: "\(list.joined(separator: "、"))のどれかを指定してください。"))
    }

    /// A language or a time zone. Which there are, the phone's system knows better.
    private static func code(_ text: String?, _ field: String, most: Int) throws(HirobaError) -> String? {
        guard let text else { return nil }
        guard let code = plain(text, most: most, besides: "-_/+:") else {
            throw .invalid(field, Sentence(en: "This is not possible here.", ja: "この値は使えません。"))
        }
        return code
    }

    /// The text, when it consists of ASCII letters, digits and some others.
    private static func plain(_ text: String, most: Int, besides others: String) -> String? {
        let isPlain =
            (1...most).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: others.utf8.contains(byte)
                }
            }
        return isPlain ? text : nil
    }

    func store(over earlier: StoredDevice?, session: String?, in db: Transaction, at now: Int64) throws {
        if let token {
            try db.run(
                """
                UPDATE devices SET token = NULL, problem = \(DeviceProblem.tokenMoved.rawValue), version = version + 1
                WHERE app = \(app) AND token = \(token) AND id <> \(id)
                """)
        }
        let isSame = earlier?.token == token && earlier?.app == app
        // The gateway knows better than an app that tells the same each time.
        let isProven = isSame && earlier?.isEnvironmentProven == true
        let environment = isProven ? earlier?.environment ?? environment.rawValue : environment.rawValue
        let registeredAt = token == nil ? nil : now
        // What was said of another token says nothing of this one.
        let (verdict, verdictAt) = isSame ? (earlier?.lastVerdict, earlier?.lastVerdictAt) : (nil, nil)
        try db.run(
            """
            INSERT INTO devices (id, session_id, platform, token, environment, is_environment_proven, app, permission,
                language, time_zone, app_version, registered_at, created_at, updated_at, version)
            VALUES (\(id), \(.bound(session)), \(platform.rawValue), \(.bound(token)), \(environment), \(isProven), \(app),
                \(permission.rawValue), \(.bound(language)), \(.bound(timeZone)), \(.bound(appVersion)),
                \(.bound(registeredAt)), \(now), \(now), 1)
            ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, platform = excluded.platform,
                token = excluded.token, environment = excluded.environment,
                is_environment_proven = excluded.is_environment_proven, app = excluded.app,
                permission = excluded.permission, language = excluded.language, time_zone = excluded.time_zone,
                app_version = excluded.app_version, registered_at = excluded.registered_at, died_at = NULL,
                problem = NULL, last_verdict = \(.bound(verdict)), last_verdict_at = \(.bound(verdictAt)),
                updated_at = excluded.updated_at, version = devices.version + 1
            """)
    }
}

/// Why a device cannot be pushed to, besides a token that is dead.
enum DeviceProblem: String, Sendable {
    /// Another device of the app handed the same token in.
    case tokenMoved = "token_moved"
    /// The gateway says that the token is another app's.
    case refused
}

/// A device as its row says.
struct StoredDevice: Sendable {
    let id: String
    /// Whose living session it is.
    let user: String?
    let platform: String
    let token: String?
    let environment: String
    let isEnvironmentProven: Bool
    let app: String
    let permission: String
    let language: String?
    let timeZone: String?
    let appVersion: String?
    let registeredAt: Int64?
    let diedAt: Int64?
    let problem: String?
    let lastVerdict: String?
    let lastVerdictAt: Int64?
    let createdAt: Int64
    let updatedAt: Int64

    /// Begins a statement that answers what `init(_ row:)` reads.
    static func select(at now: Int64) -> SQL {
        """
        SELECT d.id, s.user_id, d.platform, d.token, d.environment, d.is_environment_proven, d.app, d.permission,
            d.language, d.time_zone, d.app_version, d.registered_at, d.died_at, d.problem, d.last_verdict,
            d.last_verdict_at, d.created_at, d.updated_at
        FROM devices d LEFT JOIN sessions s ON s.id = d.session_id AND s.expires_at > \(now)
        """
    }

    static func find(_ id: String, in db: Transaction, at now: Int64) throws -> StoredDevice? {
        try db.first("\(select(at: now)) WHERE d.id = \(id)") { row in try StoredDevice(row) }
    }

    init(_ row: borrowing Row) throws {
        id = try row.text(0)
        user = try row.optionalText(1)
        platform = try row.text(2)
        token = try row.optionalText(3)
        environment = try row.text(4)
        isEnvironmentProven = try row.bool(5)
        app = try row.text(6)
        permission = try row.text(7)
        language = try row.optionalText(8)
        timeZone = try row.optionalText(9)
        appVersion = try row.optionalText(10)
        registeredAt = try row.optionalInteger(11)
        diedAt = try row.optionalInteger(12)
        problem = try row.optionalText(13)
        lastVerdict = try row.optionalText(14)
        lastVerdictAt = try row.optionalInteger(15)
        createdAt = try row.integer(16)
        updatedAt = try row.integer(17)
    }
}
