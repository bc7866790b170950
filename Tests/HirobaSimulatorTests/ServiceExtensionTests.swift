import HirobaHTTP
import Testing

@testable import HirobaSimulator

@Suite struct ServiceExtensionTests {
    @Test("it takes addresses apart as a browser would, and refuses what could say more than it seems")
    func addresses() {
        let plain = PictureAddress("http://LocalHost:8080/a?b=c")
        #expect(plain?.host == "localhost")
        #expect(plain?.port == 8080)
        #expect(plain?.target == "/a?b=c")
        #expect(PictureAddress("http://127.0.0.1")?.target == "/")
        #expect(PictureAddress("http://[::1]:81/x")?.host == "::1")
        for bad in [
            "https://localhost/", "http://", "http:///x", "http://a@localhost/", "http://localhost/a\r\nX: y",
            "http://localhost:0/", "http://localhost:99999/", "ftp://localhost/", "http://local host/", "",
        ] { #expect(PictureAddress(bad) == nil, "\(bad)") }
    }

    @Test("this machine is what means it everywhere")
    func machine() {
        for host in ["localhost", "hana.localhost", "127.0.0.1", "127.9.9.9", "::1"] {
            #expect(PictureAddress.isThisMachine(host), "\(host)")
        }
        for host in ["localhost.example.org", "128.0.0.1", "10.0.0.1", "169.254.169.254", "notlocalhost", "0.0.0.0"] {
            #expect(!PictureAddress.isThisMachine(host), "\(host)")
        }
    }

    @Test("it fetches pictures from this machine, and says why it did not")
    func fetch() async throws {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]
        let server = try HTTPServer(configuration: HTTPServerConfiguration(port: 0, loops: 1)) { request in
            switch request.path {
            case "/a.png": HTTPResponse(headers: ["Content-Type": "text/html"], body: .bytes(png))
            case "/text": .text(.ok, "hello")
            case "/large": HTTPResponse(body: .bytes(png + [UInt8](repeating: 0, count: 100_000)))
            case "/slow":
                await {
                    try? await Task.sleep(for: .seconds(60)); return HTTPResponse()
                }()
            default: HTTPResponse(.notFound)
            }
        }
        let port = try await server.start().port
        let worker = ServiceExtension(time: .seconds(20), mostBytes: 50_000)
        func get(_ path: String) async -> Result<Phones.Picture, Delivery.PictureFailure> {
            await worker.fetch("http://localhost:\(port)\(path)")
        }
        #expect(await get("/a.png") == .success(.init(type: "image/png", bytes: png)))
        #expect(await get("/text") == .failure(.notAPicture))
        #expect(await get("/none") == .failure(.refused))
        #expect(await get("/large") == .failure(.tooLarge))
        #expect(await worker.fetch("http://192.0.2.1/a.png") == .failure(.notAllowed))
        #expect(await worker.fetch("http://localhost:1/a.png") == .failure(.unreachable))
        let hasty = ServiceExtension(time: .milliseconds(100))
        #expect(await hasty.fetch("http://127.0.0.1:\(port)/slow") == .failure(.tooSlow))
        await server.stop(grace: .zero)
    }
}
