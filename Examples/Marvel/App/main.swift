import Foundation
import HirobaClient
import MarvelAPI

let server = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8091"
do {
    let client = APIClient(try APITypes(server: server, publicKey: "1234", privateKey: "abcd"))

    let characters: Envelope<MarvelCharacter> = try await client.send(APITypes.Character.list(.init(limit: 4)))
    for hero in characters.data.results {
        let comics: Envelope<MarvelComic> = try await client.send(APITypes.Character.comics(.init(id: hero.id)))
        print(hero.name, comics.data.results.map(\.title))
    }
    let comics: Envelope<MarvelComic> = try await client.send(APITypes.Comic.list(.init(orderBy: "-modified")))
    for comic in comics.data.results.prefix(2) { print("New: \(comic.title)") }
    let events: Envelope<MarvelEvent> = try await client.send(APITypes.Event.list(.init(limit: 2)))
    for event in events.data.results { print("Event: \(event.title)") }
    print(characters.attributionText)
} catch ClientError.network(let failure) {
    print("No answer from \(server): is marvel-server running? (\(failure))")
    exit(1)
} catch {
    print(error)
    exit(1)
}
