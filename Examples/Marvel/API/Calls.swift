public import HirobaClient

// The same calls in the other style: each is a structure whose fields are its parameters and whose type names its answer.
//
//     let heroes = try await client.send(ListCharacters(limit: 5))

/// Characters in order of their names.
public struct ListCharacters: APICall, Encodable {
    /// The API this call belongs to.
    public typealias API = APITypes
    /// Characters in an envelope.
    public typealias Answer = Envelope<MarvelCharacter>
    /// Below the base address.
    public var path: String { "characters" }

    /// The first letters of the name.
    public var nameStartsWith: String?
    /// 1 to 100.
    public var limit: Int?
    /// How many to leave out.
    public var offset: Int?

    /// All characters, unless something is said.
    public init(nameStartsWith: String? = nil, limit: Int? = nil, offset: Int? = nil) {
        self.nameStartsWith = nameStartsWith
        self.limit = limit
        self.offset = offset
    }
}

/// One character: a list of one.
public struct GetCharacter: APICall, Encodable {
    /// The API this call belongs to.
    public typealias API = APITypes
    /// The character in an envelope.
    public typealias Answer = Envelope<MarvelCharacter>
    /// Below the base address.
    public var path: String { "characters/{id}" }

    /// Which one.
    public var id: Int

    /// A character by its id.
    public init(id: Int) { self.id = id }
}
