internal import HirobaCrypto
internal import HirobaJSON

extension ProviderKeys {
    /// The ids of the key and the team that are made at first start.
    package static let firstKey = "HIROBAKEY1"
    package static let firstTeam = "HIROBATEAM"

    /// Reads `providers.json`, which may be edited to try other keys, teams and environments. At first start it is
    /// written, with one key for both environments in a `.p8` file as Apple gives it out.
    package init(in folder: SimulatorFolder, bundles: [String]) throws(SimulatorFailure) {
        let name = "providers.json"
        if try folder.text(name) == nil {
            let file = Self.fileName(Self.firstKey)
            if try folder.text(file) == nil { try folder.write(ES256.PrivateKey.generate().pem, to: file) }
            let first: JSON = [
                "teams": .object([Self.firstTeam: .array(bundles.map(JSON.string))]),
                "keys": [
                    [
                        "id": .string(Self.firstKey), "team": .string(Self.firstTeam), "file": .string(file),
                        "environments": .array(PushEnvironment.allCases.map { .string($0.rawValue) }),
                    ]
                ],
            ]
            try folder.write(String(decoding: first.prettyBytes(), as: UTF8.self) + "\n", to: name)
        }
        let json = try folder.json(name) ?? .emptyObject
        var teams: [String: Set<String>] = [:]
        for team in json["teams"]?.object ?? [:] {
            teams[team.name] = Set((team.value.array ?? []).compactMap(\.string))
        }
        // Bundles named at a later start belong to the first team too.
        teams[Self.firstTeam, default: []].formUnion(bundles)
        var keys: [ProviderKey] = []
        for item in json["keys"]?.array ?? [] {
            guard let id = item["id"]?.string, let team = item["team"]?.string else {
                throw SimulatorFailure("Each key in \(folder.file(name)) needs an id and a team.")
            }
            let environments = item["environments"]?.array.map { Set($0.compactMap(\.string)) }
            keys.append(
                ProviderKey(
                    id: id, team: team,
                    environments: Set(PushEnvironment.allCases.filter { environments?.contains($0.rawValue) ?? true }),
                    topics: item["topics"]?.array.map { Set($0.compactMap(\.string)) },
                    related: item["related"]?.string,
                    publicKey: try Self.publicKey(item["file"]?.string ?? Self.fileName(id), in: folder)))
        }
        self.init(keys: keys, teams: teams)
    }

    package static func fileName(_ key: String) -> String { "AuthKey_\(key).p8" }

    /// From the private key, or from a public one alone.
    private static func publicKey(
        _ file: String, in folder: SimulatorFolder
    ) throws(SimulatorFailure) -> ES256.PublicKey {
        guard let pem = try folder.text(file) else {
            throw SimulatorFailure("The key \(folder.file(file)) is missing.")
        }
        if let key = try? ES256.PrivateKey(pem: pem) { return key.publicKey }
        if let key = try? ES256.PublicKey(pem: pem) { return key }
        throw SimulatorFailure("\(folder.file(file)) holds no P-256 key in PEM.")
    }
}
