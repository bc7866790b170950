import Glibc
import HirobaContract
import HirobaCore
import HirobaCrypto
import HirobaJSON
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaServer

@Suite("Push in the program")
struct PushCompositionTests {
    private static func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        let descriptor = creat(path, mode)
        guard descriptor >= 0 else { throw TestFailure("cannot write \(path)") }
        defer { close(descriptor) }
        fchmod(descriptor, mode)
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw TestFailure("cannot write") }
    }

    /// Nobody listens there.
    private static func entry(_ folder: String) -> APNsEntry {
        APNsEntry(
            environment: .sandbox, keyFile: folder + "/key.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ",
            apps: ["org.example.app"], host: "localhost", port: 1)
    }

    @Test("Makes a server key for its owner alone, which opens the stories of pushes")
    func serverKey() async throws {
        try await TestServer.onBoth { server async throws in
            var status = stat()
            #expect(stat(server.folder + "/server-key", &status) == 0 && status.st_mode & 0o777 == 0o600)
            let text = String(decoding: try #require(readFile(server.folder + "/server-key")), as: UTF8.self)
            let key = String(text.dropLast())
            #expect(text.hasSuffix("\n") && ServerKey.isOne(key))
            for path in ["/v1/push", "/v1/devices"] {
                #expect(try await server.get(path, token: key).status == 200)
                #expect(try await server.get(path).status == 401)
                #expect(try await server.get(path, token: ServerKey.random()).status == 401)
                let member = try await server.person("a member").token
                #expect(try await server.get(path, token: member).status == 403)
            }
        }
    }

    @Test("Keeps the server key, and refuses a file that holds none")
    func keptKey() async throws {
        try await withTemporaryFolder { temporary async throws in
            let folder = try DataFolder(path: temporary + "/data")
            let key = try folder.serverKey()
            #expect(try folder.serverKey() == key)
            try Self.write("nonsense", to: temporary + "/data/server-key")
            #expect(throws: DataFolder.Refused.self) { try folder.serverKey() }
        }
    }

    @Test("Does not start with a key that it cannot use, and says which")
    func badKey() async throws {
        try await withTemporaryFolder { temporary async throws in
            var configuration = Configuration()
            configuration.data = temporary + "/data"
            configuration.listen.port = 0
            configuration.apns = [Self.entry(temporary)]
            let log = try LogFile(path: temporary + "/log")
            let path = temporary + "/key.p8"
            for (content, sentence) in [
                (nil, "The APNs key \(path) cannot be read: No such file or directory."),
                ("-----BEGIN", "The APNs key \(path) is no .p8 file as Apple gives them out."),
            ] {
                if let content { try Self.write(content, to: path) }
                let error = await #expect(throws: StartFailure.self) {
                    _ = try await HirobaApp.start(configuration, log: log.log)
                }
                #expect(error?.description == sentence)
            }
            // What it had opened it has let go of.
            try Self.write(ES256.PrivateKey.generate().pem, to: path)
            let app = try await HirobaApp.start(configuration, log: log.log)
            await app.stop()
        }
    }

    @Test("Checks the ways to APNs, and tells where the server key is")
    func check() async throws {
        try await withTemporaryFolder { temporary async throws in
            var invocation = try Invocation(arguments: ["check", "--data", temporary], environment: [:]) { _ in nil }
            var found = await Check.findings(invocation)
            #expect(found.facts.contains("No way to APNs is configured (--apns): nothing is pushed."))
            #expect(!found.facts.contains { $0.contains("server key") })

            var entry = Self.entry(temporary)
            entry.authorityFile = temporary + "/authority.pem"
            invocation.configuration.apns = [entry]
            found = await Check.findings(invocation)
            #expect(found.problems.contains("The APNs key \(entry.keyFile) cannot be read: No such file or directory."))

            try Self.write(ES256.PrivateKey.generate().pem, to: entry.keyFile, mode: 0o644)
            try Self.write("hk_x", to: temporary + "/server-key")
            found = await Check.findings(invocation)
            #expect(
                found.facts.contains(
                    "APNs sandbox at localhost:1: key ABC123DEFG of team DEF123GHIJ for org.example.app."))
            #expect(found.facts.contains { $0.hasSuffix("is in \(temporary)/server-key.") })
            #expect(found.problems.contains { $0.hasSuffix("chmod 600 \(entry.keyFile)") })
            #expect(
                found.problems.contains(
                    "The authority \(temporary)/authority.pem of an APNs entry cannot be read: "
                        + "No such file or directory."))
        }
    }

    @Test("Shows how pushes are getting on among the other numbers, where there is a gateway")
    func metrics() async throws {
        try await withTemporaryFolder { temporary async throws in
            try Self.write(ES256.PrivateKey.generate().pem, to: temporary + "/key.p8")
            try await TestServer.onBoth(configure: { $0.apns = [Self.entry(temporary)] }) { server async throws in
                let text = try await server.get("/metrics").text
                for line in [
                    #"hiroba_push_verdicts_total{verdict="accepted"} 0"#, "# TYPE hiroba_push_verdicts_total counter",
                    "hiroba_push_waiting_deliveries 0.0", "hiroba_push_waiting_events 0.0",
                    "hiroba_push_oldest_waiting_seconds 0.0",
                ] {
                    #expect(text.contains(line + "\n"), "\(line) in \(text)")
                }
            }
        }
        try await TestServer.onSQLite { server async throws in
            #expect(try await !server.get("/metrics").text.contains("hiroba_push"))
        }
    }

    // MARK: In a terminal

    private func run(_ arguments: String...) async -> (code: ExitCode, output: String, complaints: String) {
        let texts = Lock((output: "", complaints: ""))
        let code = await Program.run(
            arguments: arguments, environment: [:], signals: AsyncStream { $0.finish() }
        ) { text, channel in
            texts.withLock { texts in
                if channel == .output { texts.output += text } else { texts.complaints += text }
            }
        }
        return texts.withLock { (code, $0.output, $0.complaints) }
    }

    @Test("Tells of devices in a terminal while the server runs, as text and as JSON")
    func devices() async throws {
        try await withTemporaryFolder { temporary async throws in
            let (signals, sender) = AsyncStream<Int32>.makeStream()
            let data = temporary + "/data"
            let printed = Lock("")
            async let code = Program.run(
                arguments: ["serve", "--data", data, "--listen", "127.0.0.1:0", "--request-log", "off"],
                environment: [:], signals: signals
            ) { text, channel in
                if channel == .output { printed.withLock { $0 += text } }
            }
            try await until { printed.withLock { $0.hasSuffix("\n") } }
            let port = try #require(Int(printed.withLock { $0 }.dropLast().split(separator: ":").last ?? ""))

            #expect(await run("device", "list", "--data", data).output == "No device has registered yet.\n")
            #expect(await run("push", "list", "--data", data).output == "There was nothing to push yet.\n")
            let body = """
                {"token": "abcd", "platform": "ios", "environment": "sandbox", "app": "org.example.app", \
                "permission": "denied"}
                """
            let head = """
                PUT /v1/devices/phone-0001 HTTP/1.1\r
                Host: a\r
                Connection: close\r
                Content-Type: application/json\r
                Content-Length: \(body.utf8.count)\r
                \r

                """
            let answer = try await TestServer.blocking.run {
                let socket = try TestSocket(port: port)
                try socket.write(Array((head + body).utf8))
                return String(decoding: try socket.readAll(), as: UTF8.self)
            }
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            let list = await run("device", "list", "--data", data)
            #expect(list.code == .success && list.output.hasPrefix("phone-0001 ") && list.complaints.isEmpty)
            let why = await run("device", "why", "phone-0001", "--data", data)
            #expect(why.output.hasPrefix("Device phone-0001: "))
            #expect(why.output.contains("\n  app           org.example.app\n"))
            #expect(!why.output.contains("abcd"), "the token stays with the server")
            let json = try JSON.parse(await run("device", "why", "phone-0001", "--json", "--data", data).output)
            #expect(json["device"]?["permission"] == "denied" && json["deliveries"] == [])
            #expect(try JSON.parse(await run("push", "list", "--json", "--data", data).output)["items"] == [])

            let nothing = await run("push", "story", "nothing", "--data", data)
            #expect(nothing.code == .failure && nothing.output.isEmpty)
            #expect(
                nothing.complaints
                    == "hiroba: There is no push and no delivery “nothing”, and no push about it.\n")
            #expect(
                await run("device", "why", "nothing", "--data", data).complaints
                    == "hiroba: There is no device “nothing”.\n")
            sender.yield(SIGTERM)
            #expect(await code == .success)
            // And after it.
            #expect(await run("device", "list", "--data", data).output == list.output)
        }
    }

    @Test("Says what is wrong with a database that it shall look at")
    func databases() async throws {
        try await withTemporaryFolder { temporary async throws in
            let absent = await run("push", "list", "--data", temporary)
            #expect(absent.code == .failure)
            #expect(absent.complaints.hasPrefix("hiroba: There is no database \(temporary)/hiroba.sqlite: "))
            #expect(absent.complaints.contains("--data hiroba-demo"))
            #expect(access(temporary + "/hiroba.sqlite", F_OK) != 0)
            try Self.write(String(repeating: "no database ", count: 1000), to: temporary + "/hiroba.sqlite")
            let noise = await run("push", "list", "--data", temporary)
            #expect(noise.code == .failure)
            #expect(noise.complaints.hasPrefix("hiroba: The database cannot be opened: "))
            let usage = await run("push", "list", "--limit", "0")
            #expect(usage.code == .usage)
        }
    }
}
