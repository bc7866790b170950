import HirobaJSON

/// Characters, comics and events that nobody ever drew. The real data may not be redistributed.
struct InventedData: Sendable {
    struct Item: Sendable {
        var id: Int
        /// Name of a character, title of a comic or an event.
        var name: String
        var modified: String
        /// Ids of characters for a comic, of comics for a character.
        var related: [Int] = []
        var issueNumber = 0.0
        var json: JSON
    }

    let characters: [Item]
    let comics: [Item]
    let events: [Item]

    init() {
        let ranks = ["Captain", "Doctor", "Lady", "Professor", "Sergeant", "The Amazing"]
        let nouns = ["Placeholder", "Example", "Sample", "Specimen", "Foobar", "Quux", "Lorem", "Ipsum", "Dummy"]
        let names = ranks.flatMap { rank in nouns.map { "\(rank) \($0)" } }.sorted()

        var comics: [Item] = []
        var characters: [Item] = []
        for (index, name) in names.enumerated() {
            let id = 1_000 + index
            // Some appear nowhere, and no one in more than three comics.
            let issues = (0..<index % 4).map { number in
                Self.comic(id: 20_000 + comics.count + number, hero: id, "The Test of \(name)", number: number + 1)
            }
            comics += issues
            characters.append(Self.character(id: id, name, index, issues))
        }
        self.characters = characters
        self.comics = comics
        events = (1...7).map { number in
            let title = "Great Rehearsal \(number)"
            let modified = Self.date(year: 2010 + number, number)
            return Item(
                id: 300 + number, name: title, modified: modified,
                json: [
                    "id": .integer(Int64(300 + number)), "title": .string(title),
                    "description": "Everyone pretends for the length of a crossover.", "modified": .string(modified),
                ])
        }
    }

    private static func character(id: Int, _ name: String, _ index: Int, _ issues: [Item]) -> Item {
        let modified = date(year: 2001 + index % 20, index)
        return Item(
            id: id, name: name, modified: modified, related: issues.map(\.id),
            json: [
                "id": .integer(Int64(id)), "name": .string(name),
                "description": .string(index % 3 == 0 ? "" : "\(name) was invented for a test."),
                "modified": .string(modified), "resourceURI": .string("http://localhost/v1/public/characters/\(id)"),
                "thumbnail": ["path": .string("http://localhost/pictures/\(id)"), "extension": "jpg"],
                "comics": [
                    "available": .integer(Int64(issues.count)), "returned": .integer(Int64(issues.count)),
                    "collectionURI": .string("http://localhost/v1/public/characters/\(id)/comics"),
                    "items": .array(issues.map { ["name": .string($0.name)] }),
                ],
            ])
    }

    private static func comic(id: Int, hero: Int, _ series: String, number: Int) -> Item {
        let title = "\(series) #\(number)"
        let modified = date(year: 2005 + number, id)
        // There are issues between issues.
        let issueNumber = number == 3 ? 2.5 : Double(number)
        return Item(
            id: id, name: title, modified: modified, related: [hero], issueNumber: issueNumber,
            json: [
                "id": .integer(Int64(id)), "title": .string(title),
                "issueNumber": JSON.number(issueNumber) ?? .null,
                "description": number == 1 ? .null : .string("Number \(number) of an invented series."),
                "modified": .string(modified),
                "prices": [["type": "printPrice", "price": 3.99], ["type": "digitalPurchasePrice", "price": 0]],
            ])
    }

    /// As the real service wrote them: an offset without a colon.
    private static func date(year: Int, _ index: Int) -> String {
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(year)-\(two(index % 12 + 1))-\(two(index % 28 + 1))T08:46:\(two(index % 60))-0500"
    }
}
