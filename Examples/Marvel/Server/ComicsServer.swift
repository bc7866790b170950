import COpenSSL
import HirobaHTTP
import HirobaJSON

/// Answers as the Marvel Comics API did: one envelope around everything, GET only, and errors of two shapes.
struct ComicsServer: Sendable {
    /// A refusal in one of the two shapes of the service.
    struct Refusal: Error {
        var status: HTTPStatus
        var body: JSON

        /// Before the keys were accepted: a code in words, and the sentence in `message`.
        static func gate(_ status: Int, _ code: String, _ message: String) -> Refusal {
            Refusal(
                status: HTTPStatus(rawValue: status), body: ["code": .string(code), "message": .string(message)])
        }

        /// After that: the code is the status, and the sentence is in `status`.
        static func service(_ code: Int, _ sentence: String) -> Refusal {
            Refusal(
                status: HTTPStatus(rawValue: code),
                body: ["code": .integer(Int64(code)), "status": .string(sentence)])
        }
    }

    let publicKey: String
    let privateKey: String
    private let data = InventedData()

    func handle(_ request: HTTPRequest) -> HTTPResponse {
        do throws(Refusal) {
            guard request.method == .get || request.method == .head else {
                // Only the status is known of the real service.
                throw .service(405, "Only GET is supported.")
            }
            let query = try Query(request.query ?? "")
            try checkKeys(query)
            return try answer(request, query)
        } catch {
            return HTTPResponse(
                error.status, headers: ["Content-Type": "application/json"], body: .bytes(error.body.bytes()))
        }
    }

    private func checkKeys(_ query: Query) throws(Refusal) {
        guard let key = query["apikey"] else { throw .gate(409, "MissingParameter", "You must provide a user key.") }
        guard let hash = query["hash"] else { throw .gate(409, "MissingParameter", "You must provide a hash.") }
        guard let timeStamp = query["ts"] else {
            throw .gate(409, "MissingParameter", "You must provide a timestamp.")
        }
        guard key == publicKey else { throw .gate(401, "InvalidCredentials", "The passed API key is invalid.") }
        guard !timeStamp.isEmpty, hash == Self.md5(timeStamp + privateKey + publicKey) else {
            throw .gate(401, "InvalidCredentials", "That hash, timestamp and key combination is invalid.")
        }
    }

    private func answer(_ request: HTTPRequest, _ query: Query) throws(Refusal) -> HTTPResponse {
        let segments = request.path.split(separator: "/").map(String.init)
        guard segments.starts(with: ["v1", "public"]) else { throw .service(404, "There is nothing here.") }
        let path = segments.dropFirst(2)
        guard path.count <= 3 else { throw .service(404, "There is nothing here.") }
        let page: Page
        switch (path.first, path.dropFirst().first, path.dropFirst(2).first) {
        case ("characters", nil, nil):
            page = try Page(data.characters, query, named: "name", related: "comics", orders: ["name", "modified"])
        case ("characters", let id?, nil):
            page = Page(try find(id, in: data.characters, "character"))
        case ("characters", let id?, "comics"):
            let character = try find(id, in: data.characters, "character")
            let comics = data.comics.filter { $0.related.contains(character.id) }
            page = try Self.comics(comics, query)
        case ("comics", nil, nil):
            page = try Self.comics(data.comics, query)
        case ("comics", let id?, nil):
            page = Page(try find(id, in: data.comics, "comic"))
        case ("events", nil, nil):
            page = try Page(data.events, query, named: "name", related: nil, orders: ["name", "modified"])
        case ("events", let id?, nil):
            page = Page(try find(id, in: data.events, "event"))
        default:
            throw .service(404, "There is nothing here.")
        }
        let etag = Self.md5(page.json.description)
        guard request.headers["If-None-Match"] != etag else {
            return HTTPResponse(.notModified, headers: ["ETag": etag])
        }
        return HTTPResponse(
            headers: ["Content-Type": "application/json; charset=utf-8", "ETag": etag],
            body: .bytes(envelope(page, etag).bytes()))
    }

    private static func comics(_ comics: [InventedData.Item], _ query: Query) throws(Refusal) -> Page {
        try Page(
            comics, query, named: "title", related: "characters", orders: ["title", "issueNumber", "modified"])
    }

    private func find(
        _ id: String, in items: [InventedData.Item], _ noun: String
    ) throws(Refusal) -> InventedData.Item {
        guard let item = items.first(where: { String($0.id) == id }) else {
            throw .service(404, "We couldn't find that \(noun)")
        }
        return item
    }

    private func envelope(_ page: Page, _ etag: String) -> JSON {
        let attribution = "Data invented by Hiroba. Not affiliated with anyone who draws comics."
        return [
            "code": 200, "status": "Ok", "copyright": "None: this is a test server.",
            "attributionText": .string(attribution), "attributionHTML": .string("<p>\(attribution)</p>"),
            "etag": .string(etag), "data": page.json,
        ]
    }

    /// The same hash as the client's, from another hand.
    static func md5(_ text: String) -> String {
        var digest = [UInt8](repeating: 0, count: 16)
        let bytes = Array(text.utf8)
        precondition(EVP_Digest(bytes, bytes.count, &digest, nil, EVP_md5(), nil) == 1, "no MD5 in this OpenSSL")
        let digits = Array("0123456789abcdef")
        return String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
