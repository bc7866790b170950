package import HirobaContract

/// Who asks, as the surface learned it. The core decides what that is worth, in the transaction that does the work.
package struct Caller: Sendable {
    package var credential: Credential
    /// The network address, without a port.
    package var address: String
    package var language: Language
    /// Makes a repeated creating call answer as the first one did.
    package var idempotencyKey: String?
    /// What the caller calls its device; shown in the list of sessions.
    package var device: String?
    /// Told who the caller turned out to be, perhaps more than once; for logs.
    package var recognised: (@Sendable (User.ID) -> Void)?

    package init(
        credential: Credential = .none, address: String = "", language: Language = .english,
        idempotencyKey: String? = nil, device: String? = nil
    ) {
        self.credential = credential
        self.address = address
        self.language = language
        self.idempotencyKey = idempotencyKey
        self.device = device
    }
}

package enum Credential: Sendable {
    /// Nobody in particular: sees what everyone sees.
    case none
    /// A session's token as the client sent it.
    case session(token: String)
    /// A server key as another server sent it.
    case serverKey(String)
    /// Whoever can read the database itself, and so may know everything: the command line. Never made of a request.
    case local
}

/// The languages we speak to people.
package enum Language: String, Sendable, CaseIterable {
    case english = "en"
    case japanese = "ja"
}

/// The same sentence in every language.
package struct Sentence: Sendable, Equatable {
    package let en: String
    package let ja: String

    package init(en: String, ja: String) {
        self.en = en
        self.ja = ja
    }

    package subscript(_ language: Language) -> String {
        switch language {
        case .english: en
        case .japanese: ja
        }
    }
}
