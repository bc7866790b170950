import HirobaContract
import HirobaJSON
import Testing

@testable import HirobaServer

@Suite("Files over HTTP")
struct FilesTests {
    @Test("go up and come down byte for byte, with a type that is ours, and can run nowhere")
    func upAndDown() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let photo = try await server.upload(TestPictures.png, type: "text/html", token: me.token)
            let answer = try await server.get("/v1/files/\(photo.id)")
            #expect(answer.status == 200)
            #expect(answer.body == TestPictures.png)
            #expect(answer["Content-Type"] == "image/png")
            #expect(answer["Content-Disposition"] == "inline")
            #expect(answer["X-Content-Type-Options"] == "nosniff")
            #expect(answer["Content-Security-Policy"] == "sandbox; default-src 'none'")
            #expect(answer["Cache-Control"] == "private, max-age=86400")

            let page = Array("<script>alert(1)</script>".utf8)
            let file = try await server.upload(page, type: "text/html", token: me.token)
            let download = try await server.get("/v1/files/\(file.id)")
            #expect(download.body == page)
            #expect(download["Content-Type"] == "application/octet-stream")
            #expect(download["Content-Disposition"] == "attachment")
            #expect(download["Content-Security-Policy"] == "sandbox; default-src 'none'")
        }
    }

    @Test("are not sent again to whoever has them")
    func notModified() async throws {
        try await TestServer.onSQLite { server async throws in
            let me = try await server.person("Me")
            let photo = try await server.upload(TestPictures.png, token: me.token)
            let target = "/v1/files/\(photo.id)"
            let etag = try #require(try await server.get(target)["ETag"])
            for field in [etag, "W/\(etag)", "\"other\", \(etag)", "*"] {
                let answer = try await server.get(target, [("If-None-Match", field)])
                #expect(answer.status == 304, "\(field)")
                #expect(answer.body.isEmpty)
                #expect(answer["ETag"] == etag)
            }
            #expect(try await server.get(target, [("If-None-Match", "\"other\"")]).status == 200)
            // A picture in another size is another thing.
            let small = try await server.get(target + "?size=200", [("If-None-Match", etag)])
            #expect(small.status == 200)
            #expect(small["ETag"] != etag)
            #expect(small.text == "small 200")
        }
    }

    @Test("come in parts when asked")
    func ranges() async throws {
        try await TestServer.onBoth { server async throws in
            let me = try await server.person("Me")
            let bytes = Array("0123456789".utf8)
            let file = try await server.upload(bytes, type: "text/plain", token: me.token)
            let target = "/v1/files/\(file.id)"
            for (range, part, place) in [
                ("bytes=0-3", "0123", "0-3"), ("bytes=4-", "456789", "4-9"), ("bytes=-2", "89", "8-9"),
                ("bytes=-99", "0123456789", "0-9"), ("bytes=9-99", "9", "9-9"),
            ] {
                let answer = try await server.get(target, [("Range", range)])
                #expect(answer.status == 206, "\(range)")
                #expect(answer.text == part, "\(range)")
                #expect(answer["Content-Range"] == "bytes \(place)/10")
            }
            for range in ["bytes=10-", "bytes=-0"] {
                let answer = try await server.get(target, [("Range", range)])
                #expect(answer.status == 416, "\(range)")
                #expect(answer["Content-Range"] == "bytes */10")
                #expect(answer.body.isEmpty)
            }
            for range in [
                "bytes=5-4", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b", "bytes", "bytes=-",
                "bytes=0-99999999999999999999",
            ] {
                let answer = try await server.get(target, [("Range", range)])
                #expect(answer.status == 200, "\(range)")
                #expect(answer.body == bytes, "\(range)")
            }
            let etag = try #require(try await server.get(target)["ETag"])
            #expect(try await server.get(target, [("Range", "bytes=0-0"), ("If-Range", etag)]).status == 206)
            #expect(try await server.get(target, [("Range", "bytes=0-0"), ("If-Range", "\"x\"")]).status == 200)
            let head = try await server.request("HEAD", target, [("Range", "bytes=0-0")])
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "10")
        }
    }

    @Test("arrive in chunks without a length, and are refused as soon as they are too long")
    func chunked() async throws {
        try await TestServer.onSQLite(configure: { $0.uploadBytes = 1_000 }) { server async throws in
            let me = try await server.person("Me")
            let head = """
                POST /v1/files HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: text/plain\r
                Authorization: Bearer \(me.token)\r\nTransfer-Encoding: chunked\r\n\r\n
                """
            let good = try await server.exchange(Array((head + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n").utf8))
            #expect(good.status == 201)
            #expect(good.json["size"] == 11)
            let chunk = "100\r\n" + String(repeating: "x", count: 256) + "\r\n"
            let long = try await server.exchange(
                Array((head + String(repeating: chunk, count: 5) + "0\r\n\r\n").utf8))
            #expect(long.status == 413)
            #expect(long.json["code"] == "too_large")
        }
    }

    @Test("are deleted by their owner alone, and then are nowhere")
    func deletion() async throws {
        try await TestServer.onBoth { server async throws in
            let (me, you) = (try await server.person("Me"), try await server.person("You"))
            let photo = try await server.upload(TestPictures.png, token: me.token)
            #expect(try await server.delete("/v1/files/\(photo.id)").status == 401)
            #expect(try await server.delete("/v1/files/\(photo.id)", token: you.token).status == 403)
            #expect(try await server.get("/v1/files/\(photo.id)").status == 200)
            #expect(try await server.delete("/v1/files/\(photo.id)", token: me.token).status == 204)
            #expect(try await server.get("/v1/files/\(photo.id)").status == 404)
        }
    }
}
