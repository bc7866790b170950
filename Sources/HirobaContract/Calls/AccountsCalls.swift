/// Signs in without a name or a password, by a secret that the device made. The same secret is the same person.
///
/// Answers 201 when the secret was new, 200 when it was known.
public struct SignInAnonymously: Call, Hashable {
    /// A person and a token.
    public typealias Answer = SignedIn
    /// Where it goes.
    public static let route = Route(.post, "/sessions/anonymous")
    /// What it does.
    public static let summary = "Sign in by a device's secret, without a name or a password"
    /// 201 or 200.
    public static let successStatuses = [201, 200]
    /// Anybody.
    public static let credential = CallCredential.none
    /// Anonymous sign-in may be switched off.
    public static let errors: [ErrorCode] = [.forbidden]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["deviceSecret": .characters(16...256)]

    /// The secret, 16 to 256 characters, made once on the device and kept there.
    public var deviceSecret: String

    /// Signs in without a name or a password.
    public init(deviceSecret: String) { self.deviceSecret = deviceSecret }
}

/// Creates an account and signs in.
public struct SignUp: Call, Hashable {
    /// A person and a token.
    public typealias Answer = SignedIn
    /// Where it goes.
    public static let route = Route(.post, "/users")
    /// What it does.
    public static let summary = "Create an account and sign in"
    /// 201.
    public static let successStatuses = [201]
    /// Anybody.
    public static let credential = CallCredential.none
    /// The address may be taken.
    public static let errors: [ErrorCode] = [.emailTaken]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = [
        "email": .characters(3...254), "password": .characters(8...128), "name": .characters(1...50),
    ]

    /// The e-mail address.
    public var email: String
    /// The password, 8 to 128 characters.
    public var password: String
    /// What the person calls themselves.
    public var name: String

    /// Creates an account and signs in.
    public init(email: String, password: String, name: String) {
        self.email = email
        self.password = password
        self.name = name
    }
}

/// Signs in by e-mail address and password.
public struct SignIn: Call, Hashable {
    /// A person and a token.
    public typealias Answer = SignedIn
    /// Where it goes.
    public static let route = Route(.post, "/sessions")
    /// What it does.
    public static let summary = "Sign in by e-mail address and password"
    /// 201.
    public static let successStatuses = [201]
    /// Anybody.
    public static let credential = CallCredential.none
    /// Address and password may not belong together.
    public static let errors: [ErrorCode] = [.invalidCredentials]
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["email": .characters(0...254), "password": .characters(0...128)]

    /// The e-mail address.
    public var email: String
    /// The password.
    public var password: String

    /// Signs in by e-mail address and password.
    public init(email: String, password: String) {
        self.email = email
        self.password = password
    }
}

/// Lists where the person is signed in.
public struct ListSessions: Call, Hashable {
    /// All sessions, newest first.
    public typealias Answer = Page<Session>
    /// Where it goes.
    public static let route = Route(.get, "/sessions")
    /// What it does.
    public static let summary = "List where the person is signed in"

    /// Lists where the person is signed in.
    public init() {}
}

/// Signs out in one place.
public struct EndSession: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.delete, "/sessions/{session}")
    /// What it does.
    public static let summary = "Sign out in one place; `current` is the session that asks"
    /// 204.
    public static let successStatuses = [204]
    /// There may be no such session.
    public static let errors: [ErrorCode] = [.notFound]

    /// The session to end; `current` is the one that asks.
    public var session: Session.ID

    /// Signs out in one place.
    public init(session: Session.ID = .current) { self.session = session }
}

extension ID where Subject == Session {
    /// The session that asks.
    public static var current: Session.ID { "current" }
}

/// Signs out everywhere.
public struct EndAllSessions: Call, Hashable {
    /// Nothing.
    public typealias Answer = NoContent
    /// Where it goes.
    public static let route = Route(.delete, "/sessions")
    /// What it does.
    public static let summary = "Sign out everywhere"
    /// 204.
    public static let successStatuses = [204]

    /// Signs out everywhere.
    public init() {}
}

/// Reads who is signed in.
public struct GetMe: Call, Hashable {
    /// The person.
    public typealias Answer = Me
    /// Where it goes.
    public static let route = Route(.get, "/me")
    /// What it does.
    public static let summary = "Read who is signed in"

    /// Reads who is signed in.
    public init() {}
}

/// Changes the profile of whoever is signed in. What is absent stays.
public struct UpdateMe: Call, Hashable {
    /// The person as they are now.
    public typealias Answer = Me
    /// Where it goes.
    public static let route = Route(.patch, "/me")
    /// What it does.
    public static let summary = "Change one's own profile; what is absent stays as it is"
    /// Limits of its fields.
    public static let limits: [String: FieldLimit] = ["name": .characters(1...50)]

    /// What the person calls themselves, at most 50 characters.
    public var name: String?

    /// Changes the profile.
    public init(name: String? = nil) { self.name = name }
}

/// Reads a person.
public struct GetUser: Call, Hashable {
    /// The person.
    public typealias Answer = User
    /// Where it goes.
    public static let route = Route(.get, "/users/{user}")
    /// What it does.
    public static let summary = "Read a person"
    /// Anybody.
    public static let credential = CallCredential.optional
    /// There may be no such person.
    public static let errors: [ErrorCode] = [.notFound]

    /// The person to read.
    public var user: User.ID

    /// Reads a person.
    public init(user: User.ID) { self.user = user }
}
