public import Foundation
public import HirobaContract
import HirobaJSON

/// What survives a restart of the app.
public struct StoredSession: Codable, Hashable, Sendable {
    /// The secret by which this device is known. It is made once and outlives sessions, so that after a lost session
    /// the same person comes back.
    public var deviceSecret: String
    /// Who is signed in, with the token; nil when nobody is.
    public var signedIn: SignedIn?

    /// What survives a restart.
    public init(deviceSecret: String, signedIn: SignedIn? = nil) {
        self.deviceSecret = deviceSecret
        self.signedIn = signedIn
    }
}

/// Keeps a session between starts of the app.
public protocol SessionStore: Sendable {
    /// What was saved last; nil when nothing ever was. Whatever else is wrong is thrown: taking a locked key chain for
    /// an empty one would make a new person.
    func load() throws(ClientError) -> StoredSession?
    /// Saves; when it returns, it is on disk.
    func save(_ session: StoredSession) throws(ClientError)
}

/// Keeps the session in a file with mode 600.
public struct FileSessionStore: SessionStore {
    private let file: URL

    /// A store in that file. Folders on the way are made when needed.
    public init(file: URL) { self.file = file }

    /// Reads the file.
    public func load() throws(ClientError) -> StoredSession? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        do {
            return try JSONCoding.decode(StoredSession.self, from: Array(try Data(contentsOf: file)))
        } catch {
            throw .local("The session in \(file.lastPathComponent) cannot be read: \(error)")
        }
    }

    /// Replaces the file.
    public func save(_ session: StoredSession) throws(ClientError) {
        let bytes: [UInt8]
        do {
            bytes = try JSONCoding.encode(session)
        } catch {
            throw .local(error.description)
        }
        try PrivateFile.write(bytes, to: file)
    }
}

/// Keeps the session as long as the program runs.
public final class MemorySessionStore: SessionStore {
    private let session = Locked<StoredSession?>(nil)

    /// An empty store.
    public init() {}

    /// What was saved last.
    public func load() -> StoredSession? { session.withLock { $0 } }

    /// Keeps it.
    public func save(_ session: StoredSession) { self.session.withLock { $0 = session } }
}
