import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaServer

/// The site on an empty database, without sockets.
struct SiteUnderTest: Sendable {
    let core: Core
    let routes: Routes
    let database: Database
    let blobs: FolderBlobStore

    static let secret = [UInt8](repeating: 7, count: 32)

    init(_ database: Database, blobs: FolderBlobStore, publicURL: String? = nil, phones: SitePhones? = nil) {
        self.database = database
        self.blobs = blobs
        core = Core(database: database, blobs: blobs, pictures: SitePictures())
        var routes = Routes()
        Site(
            core: core,
            options: SiteOptions(
                secret: Self.secret, publicURL: publicURL, phones: phones, record: { _, _ in "failure-1" })
        ).register(on: &routes)
        self.routes = routes
    }

    /// Another core on the same database.
    func core(at clock: Clock) -> Core {
        Core(database: database, blobs: blobs, pictures: SitePictures(), clock: clock)
    }

    func count(_ table: SQL) async throws -> Int64? {
        try await database.read { db in try db.first("SELECT count(*) FROM \(table)") { row in try row.integer(0) } }
    }
}

func withSite(
    publicURL: String? = nil, phones: SitePhones? = nil, _ body: (SiteUnderTest) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        try await withSQLite(migrations: Schema.migrations) { database in
            try await body(
                SiteUnderTest(
                    database, blobs: try await FolderBlobStore.open(folder + "/blobs"), publicURL: publicURL,
                    phones: phones))
        }
    }
}

/// The same body on both databases.
func withSites(_ body: (SiteUnderTest) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        var number = 0
        try await withDatabases(migrations: Schema.migrations) { database in
            number += 1
            try await body(SiteUnderTest(database, blobs: try await FolderBlobStore.open("\(folder)/blobs\(number)")))
        }
    }
}

/// Takes anything that begins like a JPEG for a picture.
private struct SitePictures: PictureMaker {
    func clean(_ bytes: [UInt8]) async throws(PictureError) -> CleanPicture {
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { throw .notAPicture }
        return CleanPicture(type: "image/jpeg", width: 16, height: 8, bytes: bytes)
    }

    func thumbnail(_ bytes: [UInt8], size: Int) async throws(PictureError) -> CleanPicture {
        CleanPicture(type: "image/jpeg", width: 16, height: 8, bytes: bytes)
    }
}

/// A browser without scripts: keeps cookies, sends forms as they stand on the page.
final class Browser {
    let site: SiteUnderTest
    var cookies: [String: String] = [:]
    var language = "ja"
    var host = "hiroba.example"
    /// Fields that the next requests carry beside the ordinary ones.
    var headers: [(String, String)] = []

    init(_ site: SiteUnderTest) { self.site = site }

    struct Answer {
        let status: HTTPStatus
        let headers: HTTPHeaders
        let text: String

        var location: String? { headers["Location"] }
    }

    func get(_ address: String, accept: String = "text/html") async throws -> Answer {
        try await send(.get, address, type: nil, body: [], accept: accept)
    }

    /// Sends a form of the page at `address` to `action`.
    func submit(
        _ action: String, on address: String, _ fields: [(String, String)], token: String?? = nil, key: String? = nil,
        accept: String = "text/html"
    ) async throws -> Answer {
        let all = try await prepared(address, fields, token: token, key: key)
        let body = all.map { "\(Self.encoded($0.0))=\(Self.encoded($0.1))" }.joined(separator: "&")
        return try await send(
            .post, action, type: "application/x-www-form-urlencoded", body: Array(body.utf8), accept: accept)
    }

    /// Sends the form for a new thread, in the order of its fields.
    func newThread(
        _ title: String, _ text: String = "", photo: [UInt8]? = nil, photoType: String = "image/jpeg",
        token: String?? = nil, key: String? = nil,
        accept: String = "text/html"
    ) async throws -> Answer {
        let fields = try await prepared("/forum/new", [("title", title), ("text", text)], token: token, key: key)
        var body: [UInt8] = []
        for (name, value) in fields {
            body += Array("--BB\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
        }
        body += Array(
            "--BB\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"\(photo == nil ? "" : "x.jpg")\"\r\n"
                .utf8)
        body += Array("Content-Type: \(photoType)\r\n\r\n".utf8) + (photo ?? []) + Array("\r\n--BB--\r\n".utf8)
        return try await send(
            .post, "/forum/new", type: "multipart/form-data; boundary=BB", body: body, accept: accept)
    }

    /// Starts a thread and answers where it is.
    func thread(_ title: String, _ text: String = "", photo: [UInt8]? = nil) async throws -> String {
        let answer = try await newThread(title, text, photo: photo)
        #expect(answer.status == .seeOther, "\(answer.text)")
        return try #require(answer.location)
    }

    private func prepared(
        _ address: String, _ fields: [(String, String)], token: String??, key: String?
    ) async throws -> [(String, String)] {
        let page = try await get(address).text
        var all: [(String, String)] = []
        if let token = token ?? Self.value(of: "csrf", in: page) { all.append(("csrf", token)) }
        if let key = key ?? Self.value(of: "once", in: page) { all.append(("once", key)) }
        return all + fields
    }

    private func send(
        _ method: HTTPMethod, _ target: String, type: String?, body: [UInt8], accept: String
    ) async throws -> Answer {
        var request = HTTPRequest(method: method, target: target, body: HTTPRequestBody(body))
        request.headers.add("Host", host)
        request.headers.add("Accept", accept)
        request.headers.add("Accept-Language", language)
        if !cookies.isEmpty { request.headers.add("Cookie", cookies.map { "\($0)=\($1)" }.joined(separator: "; ")) }
        if let type { request.headers.add("Content-Type", type) }
        for (name, value) in headers { request.headers.add(name, value) }
        let response = try await site.routes.handle(request)
        for cookie in response.headers.values("Set-Cookie") {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies[String(pair[0])] = String(pair[1])
        }
        var text = ""
        if case .bytes(let bytes) = response.body { text = String(decoding: bytes, as: UTF8.self) }
        return Answer(status: response.status, headers: response.headers, text: text)
    }

    private static func value(of name: String, in page: String) -> String? {
        // A page with a sheet has its form after the one in the foot; the keys differ, the token is the same.
        guard let start = page.ranges(of: "name=\"\(name)\" value=\"").first?.upperBound else { return nil }
        return String(page[start...].prefix { $0 != "\"" })
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                String(UnicodeScalar(byte))
            case UInt8(ascii: " "): "+"
            default: "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
        }.joined()
    }
}

/// The start of a JPEG, which is all that the picture maker of these tests looks at.
let tinyJPEG: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3, 4, 5, 6, 7, 8, 0x0D, 0x0A, 0x2D, 0x2D, 0x42, 0xFF, 0xD9]
