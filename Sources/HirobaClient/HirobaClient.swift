public import Foundation
public import HirobaContract

/// The client of a Hiroba server: calls, session, files and live updates.
///
/// ```swift
/// let client = HirobaClient(server: address)
/// _ = try await client.checkAuth()                                   // the same person at every start
/// let topic = try await client.send(CreateTopic(title: "Hello"))
/// for try await event in client.live() { … }
/// ```
///
/// One value serves the whole app; all of it may be called from anywhere.
public final class HirobaClient: Sendable {
    /// How often and when a request is tried again that got no answer. A second try carries the same idempotency key,
    /// so that nothing is done twice.
    public struct Retries: Sendable {
        /// The waits before each further try.
        public var delays: [Duration]
        /// The wait before a lost live stream is taken up again; twice as long after each further loss.
        public var liveDelay: Duration

        /// Waits before each further try; an empty list means one try.
        public init(delays: [Duration] = [.milliseconds(300), .seconds(1)], liveDelay: Duration = .seconds(1)) {
            self.delays = delays
            self.liveDelay = liveDelay
        }
    }

    let client: APIClient<HirobaAPI>
    let keeper: SessionKeeper
    private let retries: Retries
    var liveDelays: LiveDelays { LiveDelays(first: retries.liveDelay) }

    /// A client of one server.
    ///
    /// - Parameters:
    ///   - server: the server's address, without the API's prefix.
    ///   - store: where the session is kept; the system's usual place by default.
    ///   - device: what this device calls itself in the person's list of sessions.
    ///   - languages: the languages for sentences from the server, best first.
    public init(
        server: URL, store: (any SessionStore)? = nil, device: String? = nil,
        languages: [String] = Locale.preferredLanguages, retries: Retries = Retries(),
        transport: any Transport = URLSessionTransport()
    ) {
        keeper = SessionKeeper(store: store ?? Self.usualStore(for: server))
        client = APIClient(
            HirobaAPI(baseURL: server, languages: languages, device: device, keeper: keeper), transport: transport)
        self.retries = retries
    }

    /// The key chain where there is one, else a file in the person's own folder.
    private static func usualStore(for server: URL) -> any SessionStore {
        let name = "hiroba-\(server.host ?? "server")-\(server.port ?? 0)"
        #if canImport(Security)
            return KeychainSessionStore(service: name)
        #else
            let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
            return FileSessionStore(
                file: (folder ?? FileManager.default.temporaryDirectory).appendingPathComponent("\(name).json"))
        #endif
    }

    /// Sends a call and answers what its type names.
    public func send<C: Call>(_ call: C) async throws(ClientError) -> C.Answer {
        try await send(HirobaCall<C, C.Answer>(call))
    }

    func send<Description: CallDescription, Answer: Decodable & Sendable>(
        _ call: HirobaCall<Description, Answer>
    ) async throws(ClientError) -> Answer {
        try await retrying { () throws(ClientError) in try await self.client.send(call) }
    }

    /// Runs something again while it gets no answer from the network.
    func retrying<Value: Sendable>(
        _ body: () async throws(ClientError) -> Value
    ) async throws(ClientError) -> Value {
        for delay in retries.delays {
            do {
                return try await body()
            } catch {
                guard case .network(let failure) = error, failure.mayPass else { throw error }
            }
            do { try await Task.sleep(for: delay) } catch { throw .cancelled }
        }
        return try await body()
    }
}

extension NetworkFailure {
    /// Whether the next try may fare better. Without any network it will not, and a server that cannot prove who it is
    /// stays so.
    var mayPass: Bool {
        switch kind {
        case .lost, .timedOut, .unreachable: true
        case .offline, .untrusted, .other: false
        }
    }
}
