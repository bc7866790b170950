import Glibc
import HirobaContract
import HirobaCore
import HirobaJSON
import HirobaStore
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaServer

@Suite("The program")
struct HirobaAppTests {
    private func configuration(_ folder: String) -> Configuration {
        var configuration = Configuration()
        configuration.data = folder + "/data"
        configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
        return configuration
    }

    @Test("refuses to serve a folder that is being served, and says so in one line")
    func secondServe() async throws {
        try await withTemporaryFolder { temporary async throws in
            let log = try LogFile(path: temporary + "/log")
            let first = try await HirobaApp.start(configuration(temporary), log: log.log)
            let error = await #expect(throws: DataFolder.Refused.self) {
                _ = try await HirobaApp.start(configuration(temporary), log: log.log)
            }
            #expect(error?.description.hasPrefix("Another hiroba is using the folder") == true)
            await first.stop()
            let second = try await HirobaApp.start(configuration(temporary), log: log.log)
            await second.stop()
        }
    }

    @Test("names the port when somebody else has it, and lets go of what it had opened")
    func portTaken() async throws {
        try await withTemporaryFolder { temporary async throws in
            let log = try LogFile(path: temporary + "/log")
            let first = try await HirobaApp.start(configuration(temporary + "/a"), log: log.log)
            var other = configuration(temporary + "/b")
            other.listen.port = first.port
            let error = await #expect(throws: StartFailure.self) {
                _ = try await HirobaApp.start(other, log: log.log)
            }
            #expect(
                error?.description
                    == "cannot listen on 127.0.0.1 port \(first.port): Address already in use. "
                    + "Give another address with --listen.")
            await first.stop()
            let second = try await HirobaApp.start(other, log: log.log)
            await second.stop()
        }
    }

    @Test("makes its folder and its secrets for their owner alone")
    func modes() async throws {
        try await withTemporaryFolder { temporary async throws in
            let log = try LogFile(path: temporary + "/log")
            let app = try await HirobaApp.start(configuration(temporary), log: log.log)
            await app.stop()
            for (name, mode) in [("", 0o700), ("/site.secret", 0o600), ("/hiroba.sqlite", 0o600), ("/blobs", 0o700)] {
                var status = stat()
                #expect(stat(temporary + "/data" + name, &status) == 0)
                #expect(Int(status.st_mode & 0o777) == mode, "\(name)")
            }
        }
    }

    @Test("serves until it is told to stop, and ends well")
    func serve() async throws {
        try await withTemporaryFolder { temporary async throws in
            let (signals, sender) = AsyncStream<Int32>.makeStream()
            let arguments = [
                "serve", "--data", temporary + "/data", "--listen", "127.0.0.1:0", "--request-log", "off",
            ]
            let printed = Lock("")
            async let code = Program.run(arguments: arguments, environment: [:], signals: signals) { text, channel in
                if channel == .output { printed.withLock { $0 += text } }
            }
            try await until { printed.withLock { $0.hasSuffix("\n") } }
            let line = printed.withLock { $0 }
            let port = try #require(Int(line.dropLast().split(separator: ":").last ?? ""))
            sender.yield(SIGHUP)
            #expect((try? TestSocket(port: port)) != nil)
            sender.yield(SIGTERM)
            #expect(await code == .success)
            #expect(printed.withLock { $0 } == "Hiroba answers at http://127.0.0.1:\(port)\n")
            #expect((try? TestSocket(port: port)) == nil)
        }
    }

    @Test("ends with 2 for what it cannot read, with 1 for what it cannot do")
    func exitCodes() async throws {
        func run(_ arguments: String...) async -> (code: ExitCode, output: String, complaints: String) {
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
        for arguments in [["srve"], ["serve", "--listen", "x"]] {
            let result = await run(arguments[0], arguments.dropFirst().joined(separator: "="))
            #expect(result.code == .usage)
            #expect(result.output.isEmpty)
            #expect(result.complaints.hasPrefix("hiroba: "))
        }
        for command in ["serve", "migrate"] {
            let result = await run(command, "--data", "/dev/null")
            #expect(result.code == .failure)
            #expect(result.complaints == "hiroba: /dev/null is not a folder.\n")
        }
        let check = await run("check", "--data", "/dev/null")
        #expect(check.code == .failure)
        #expect(check.output.contains("/dev/null is not a folder."))
        #expect(check.complaints.isEmpty)
        let document = await run("openapi", "--public-url", "https://forum.example")
        #expect(document.code == .success)
        #expect(try JSON.parse(document.output)["servers"]?[0]?["url"] == "https://forum.example")
        #expect(await run("help", "serve").output.contains("--tls-certificate FILE"))
        #expect(await run("help").output == Command.overview)
        #expect(await run("version").output == "hiroba \(Program.version)\n")
    }

    @Test("explains itself and ends with 2 when it is told nothing")
    func nothing() async {
        let complaints = Lock("")
        let code = await Program.run(arguments: [], environment: [:], signals: AsyncStream { $0.finish() }) { text, _ in
            complaints.withLock { $0 += text }
        }
        #expect(code == .usage)
        #expect(complaints.withLock { $0 } == Command.overview)
    }

    @Test("tells which steps a database was missing, once")
    func migrate() async throws {
        try await withTemporaryFolder { temporary async throws in
            let names = Schema.migrations.map(\.name)
            #expect(try await HirobaApp.migrate(configuration(temporary)) == names)
            #expect(try await HirobaApp.migrate(configuration(temporary)) == [])
        }
        try await withPostgresAddress { address in
            try await withTemporaryFolder { temporary async throws in
                var configuration = configuration(temporary)
                configuration.database = address
                #expect(try await HirobaApp.migrate(configuration) == Schema.migrations.map(\.name))
                #expect(try await HirobaApp.migrate(configuration) == [])
            }
        }
    }

    @Test("lets a request in the making finish when it is stopped")
    func gracefulStop() async throws {
        try await TestServer.onSQLite { server async throws in
            let me = try await server.person("Me")
            let port = server.port
            let body = #"{"title": "the last one"}"#
            let head = """
                POST /v1/topics HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r
                Authorization: Bearer \(me.token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n
                """
            let socket = try await TestServer.blocking.run {
                let socket = try TestSocket(port: port)
                try socket.write(Array((head + body.prefix(5)).utf8))
                return socket
            }
            // The handler runs: only then is the request in the making.
            let requests = #"hiroba_requests_total{method="GET",route="/healthz",status="200"} 1"#
            _ = try await server.get("/healthz")
            #expect(try await server.get("/metrics").text.contains(requests))
            async let stopped: Void = server.app.stop()
            try await until { (try? TestSocket(port: port)) == nil }
            let answer = try await TestServer.blocking.run {
                try socket.write(Array(body.utf8.dropFirst(5)))
                return Answer(try socket.readAll())
            }
            #expect(answer?.status == 201)
            await stopped
        }
    }

    @Test("the demo fills its folder once, goes on with it, and begins anew only in a folder of its own")
    func demo() async throws {
        try await withTemporaryFolder { temporary async throws in
            let log = try LogFile(path: temporary + "/log")
            let anonymous = Caller()
            let first = try await HirobaApp.demo(configuration(temporary), fresh: false, log: log.log)
            let topics = try await first.core.community.topics(.init(), by: anonymous).items
            await first.stop()
            let second = try await HirobaApp.demo(configuration(temporary), fresh: false, log: log.log)
            #expect(try await second.core.community.topics(.init(), by: anonymous).items == topics)
            await second.stop()
            let third = try await HirobaApp.demo(configuration(temporary), fresh: true, log: log.log)
            let fresh = try await third.core.community.topics(.init(), by: anonymous).items
            #expect(fresh.map(\.title) == topics.map(\.title))
            #expect(Set(fresh.map(\.id)).isDisjoint(with: topics.map(\.id)))
            await third.stop()

            let served = try await HirobaApp.start(configuration(temporary + "/own"), log: log.log)
            await served.stop()
            for fresh in [true, false] {
                let error = await #expect(throws: StartFailure.self) {
                    _ = try await HirobaApp.demo(configuration(temporary + "/own"), fresh: fresh, log: log.log)
                }
                #expect(error?.description.contains("was not made by the demo") == true)
            }
        }
    }

    @Test("check names what is wrong")
    func check() async throws {
        func problems(_ arguments: String..., environment: [String: String] = [:]) async throws -> [String] {
            let invocation = try Invocation(
                arguments: ["check"] + arguments, environment: environment, readFile: readFile)
            return await Check.findings(invocation).problems.filter { !$0.contains("hiroba-thumbnailer") }
        }
        try await withTemporaryFolder { temporary async throws in
            let data = temporary + "/data"
            #expect(try await problems("--data", data) == [])
            #expect(access(data, F_OK) != 0)
            #expect(try await problems("--data", "/dev/null/x").count == 1)
            #expect(try await problems("--data", "/dev/null") == ["/dev/null is not a folder."])
            mkdir(data, 0o755)
            #expect(
                try await problems("--data", data)
                    == ["Others on this machine can look into \(data): chmod 700 \(data)"])
            chmod(data, 0o700)
            #expect(
                try await problems("--data", data, "--public-url", "http://forum.example")
                    == [
                        "The public address http://forum.example is plain http: passwords and sessions travel readable."
                    ])
            #expect(try await problems("--data", data, "--listen", ":80").first?.contains("without TLS") == true)
            #expect(try await problems("--data", data, "--listen", ":80", "--trusted-proxy", "10.0.0.1") == [])
            #expect(
                try await problems("--data", data, "--tls-certificate", "/absent", "--tls-key", "/absent").first?
                    .hasPrefix("The certificate or its key cannot be used") == true)
            #expect(
                try await problems("--data", data, environment: ["HIROBA_LISTN": ":1"])
                    == ["HIROBA_LISTN is set, but no option. Did you mean HIROBA_LISTEN?"])
            #expect(
                try await problems("--data", data, "--database", "postgres://nobody@127.0.0.1:1/none").first?
                    .hasPrefix("The database cannot be opened") == true)
            #expect(try await problems("--data", data, "--max-connections", "1000000").count == 1)
        }
    }
}

/// Waits until something is true; ten seconds at most.
func until(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw TestFailure("it did not come true in ten seconds") }
        try await Task.sleep(for: .milliseconds(5))
    }
}
