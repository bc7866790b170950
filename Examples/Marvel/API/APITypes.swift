public import Foundation
public import HirobaClient
public import HirobaJSON

/// Everything about the comics API: where it is, how it is signed, and its calls.
///
/// The real one ended in 2025. `marvel-server` speaks the same protocol over invented data.
///
/// ```swift
/// let client = APIClient(try APITypes(server: "http://127.0.0.1:8091", publicKey: "…", privateKey: "…"))
/// let heroes: Envelope<MarvelCharacter> = try await client.send(APITypes.Character.list(.init(limit: 5)))
/// ```
public struct APITypes: APIDescription {
    /// All calls lie below this path of the server.
    private static let path = "/v1/public/"

    /// The server and the path of the API on it.
    public let baseURL: URL
    private let publicKey: String
    private let privateKey: String
    /// A text that differs from call to call.
    private let timeStamp: @Sendable () -> String

    /// - Parameter server: such as `https://comics.example`. The signature of a call can be sent again by whoever hears it, so it
    ///   must be HTTPS, or a server on this machine.
    /// - Throws: `ClientError.request` for any other address.
    public init(
        server: String, publicKey: String, privateKey: String,
        timeStamp: @escaping @Sendable () -> String = { String(Date().timeIntervalSince1970) }
    ) throws(ClientError) {
        guard let url = URL(string: server + Self.path), let host = url.host,
            url.scheme == "https" || (url.scheme == "http" && ["127.0.0.1", "localhost"].contains(host))
        else { throw .request("\(server) is neither an HTTPS address nor a server on this machine") }
        baseURL = url
        self.publicKey = publicKey
        self.privateKey = privateKey
        self.timeStamp = timeStamp
    }

    /// `2019-11-07T08:46:15-0500`: without the colon that RFC 3339 wants.
    public var dates: JSONDates { .iso8601 }
    /// Several ids are one value: `comics=1,2`.
    public var lists: QueryLists { .commaSeparated }

    /// The public key, a time stamp, and a hash that only the owner of the private key can make.
    public func authorize(_ request: inout APIRequest) {
        let timeStamp = timeStamp()
        request.addQuery("ts", timeStamp)
        request.addQuery("apikey", publicKey)
        request.addQuery("hash", MD5.hex(timeStamp + privateKey + publicKey))
    }
}

// The calls of one resource are the cases of an enum. A case carries a typed request, whose fields become the query, or the
// part of the path that has their name.
extension APITypes {
    /// Characters, and what belongs to one. Each answers an `Envelope` of what is listed.
    public enum Character: APIType {
        /// The API these calls belong to.
        public typealias API = APITypes
        /// Characters: `Envelope<MarvelCharacter>`.
        case list(CharacterListRequest)
        /// The comics of one character: `Envelope<MarvelComic>`.
        case comics(CharacterComicsRequest)

        /// Below the base address.
        public var path: String {
            switch self {
            case .list: "characters"
            case .comics: "characters/{id}/comics"
            }
        }

        /// The request.
        public var parameters: (any Encodable & Sendable)? {
            switch self {
            case .list(let request): request
            case .comics(let request): request
            }
        }
    }

    /// Comics.
    public enum Comic: APIType {
        /// The API these calls belong to.
        public typealias API = APITypes
        /// Comics: `Envelope<MarvelComic>`.
        case list(ComicListRequest)

        /// Below the base address.
        public var path: String { "comics" }

        /// The request.
        public var parameters: (any Encodable & Sendable)? {
            switch self {
            case .list(let request): request
            }
        }
    }

    /// Events.
    public enum Event: APIType {
        /// The API these calls belong to.
        public typealias API = APITypes
        /// Events: `Envelope<MarvelEvent>`.
        case list(EventListRequest)

        /// Below the base address.
        public var path: String { "events" }

        /// The request.
        public var parameters: (any Encodable & Sendable)? {
            switch self {
            case .list(let request): request
            }
        }
    }
}
