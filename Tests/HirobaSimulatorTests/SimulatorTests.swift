import Glibc
import HirobaCrypto
import HirobaHTTP
import HirobaJSON
import HirobaThreads
import TestSupport
import Testing

@testable import HirobaSimulator

/// Runs a shell's command on a thread that may wait.
private func run(_ command: String) async -> (status: CInt, output: String) {
    await withCheckedContinuation { continuation in
        startThread(name: "shell") {
            guard let pipe = popen("(\(command)) 2>&1", "re") else {
                return continuation.resume(returning: (-1, ""))
            }
            var output: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
            continuation.resume(returning: (pclose(pipe), String(decoding: output, as: UTF8.self)))
        }
    }
}

/// A stand-in on free ports, in a folder of its own.
private func withSimulator(_ folder: String, _ body: (Simulator) async throws -> Void) async throws {
    var options = Simulator.Options(
        folder: folder, sandbox: .init(host: "127.0.0.1", port: 0), production: .init(host: "127.0.0.1", port: 0))
    options.web = .init(host: "127.0.0.1", port: 0)
    let simulator = try await Simulator.start(options)
    do {
        try await body(simulator)
    } catch {
        await simulator.stop(grace: .zero)
        throw error
    }
    await simulator.stop(grace: .zero)
}

@Suite struct SimulatorTests {
    @Test("curl trusts the authority, speaks HTTP/2 and gets Apple's answers")
    func curl() async throws {
        try await withTemporaryFolder { folder in
            try await withSimulator(folder + "/phones") { simulator in
                let pem = try #require(
                    try SimulatorFolder(folder + "/phones").text(ProviderKeys.fileName(ProviderKeys.firstKey)))
                let key = try ES256.PrivateKey(pem: pem)
                let now = SimulatorClock.system.now() / 1000
                let header: JSON = ["alg": "ES256", "kid": .string(ProviderKeys.firstKey)]
                let claims: JSON = ["iss": .string(ProviderKeys.firstTeam), "iat": .integer(now)]
                let jwt = JSONWebToken(header: header.bytes(), claims: claims.bytes(), key: key).text
                let token = try #require(await simulator.phones.phone("hana")?.apps.first?.token)
                let curl =
                    "curl -sS --max-time 20 --http2 --cacert \(simulator.authorityFile) -H 'apns-topic: \(Simulator.firstBundle)' "
                    + "-H 'authorization: bearer \(jwt)' -d '{\"aps\":{\"alert\":\"hello\"}}' -w '|%{http_version}|%{http_code}'"
                let good = await run("\(curl) https://localhost:\(simulator.sandboxPort)/3/device/\(token)")
                #expect(good.output == "|2|200")
                let other = await run("\(curl) https://127.0.0.1:\(simulator.productionPort)/3/device/\(token)")
                #expect(other.output == #"{"reason":"BadDeviceToken"}|2|400"#)
                let old = await run("\(curl) --http1.1 https://localhost:\(simulator.sandboxPort)/3/device/\(token)")
                #expect(old.status != 0, "HTTP/1.1 is refused in the handshake")
                let stranger = await run("curl -sS --http2 https://localhost:\(simulator.sandboxPort)/")
                #expect(stranger.output.contains("certificate"), "without the authority nobody trusts it")
                let page = await run("curl -sS http://127.0.0.1:\(simulator.webPort ?? 0)/")
                #expect(page.output.contains("Hana"))
                #expect(await simulator.phones.phone("hana")?.apps.first?.notifications.count == 1)
            }
        }
    }

    @Test("authority, keys, phones and tokens survive a restart; the files are nobody else's")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/new/phones"
            var before: [Phone] = []
            var token = ""
            try await withSimulator(path) { simulator in
                token = try #require(await simulator.phones.phone("hana")?.apps.first?.token)
                await simulator.phones.install(Simulator.firstBundle, named: "Hiroba", on: "hana")
                before = await simulator.phones.all
            }
            let names = ["authority.pem", "front.pem", "authority.key", "providers.json"]
            let files = try names.map { try SimulatorFolder(path).text($0) }
            try await withSimulator(path) { simulator in
                #expect(await simulator.phones.all == before)
                #expect(await simulator.phones.token(token, in: .sandbox)?.life != .alive)
            }
            #expect(try names.map { try SimulatorFolder(path).text($0) } == files)
            let modes = await run("stat -c %a \(path) \(path)/* | sort | uniq | tr '\\n' ' '")
            #expect(modes.output == "600 700 ")
        }
    }

    @Test("keys, teams and environments are read from providers.json; what is wrong with it is told")
    func providers() async throws {
        try await withTemporaryFolder { path in
            let folder = try SimulatorFolder(path)
            _ = try ProviderKeys(in: folder, bundles: ["org.example.forum"])
            let key = ES256.PrivateKey.generate()
            try folder.write(key.publicKey.pem, to: "public.pem")
            let json: JSON = [
                "teams": ["TEAM000009": ["org.example.a", "org.example.b"]],
                "keys": [
                    [
                        "id": "KEY0000009", "team": "TEAM000009", "file": "public.pem", "environments": ["production"],
                        "topics": ["org.example.a"], "related": "KEY0000008",
                    ]
                ],
            ]
            try folder.write(json.description, to: "providers.json")
            let keys = try ProviderKeys(in: folder, bundles: ["org.example.forum"])
            let read = try #require(keys.keys["KEY0000009"])
            #expect(read.environments == [.production])
            #expect(keys.bundles(of: read) == ["org.example.a"])
            #expect(read.related == "KEY0000008")
            for bad in ["{", #"{"keys":[{"id":"A"}]}"#, #"{"keys":[{"id":"A","team":"B"}]}"#] {
                try folder.write(bad, to: "providers.json")
                #expect(throws: SimulatorFailure.self) { _ = try ProviderKeys(in: folder, bundles: []) }
            }
        }
    }

    @Test("options come from flags, before them from the environment; what is wrong is a sentence")
    func options() throws {
        let options = try PhonesProgram.options(
            arguments: ["--listen", "127.0.0.1:1", "--token-bytes=80", "--app-url", "http://hana.localhost:8080/x"],
            environment: ["HIROBA_PHONES_LISTEN": "127.0.0.1:9", "HIROBA_PHONES_DATA": "/tmp/x/"])
        #expect(options.sandbox.port == 1)
        #expect(options.folder == "/tmp/x")
        #expect(options.tokenBytes == 80)
        #expect(options.pages.pageOrigins == ["http://hana.localhost:8080"])
        for bad in [["--listen"], ["--listen", "x"], ["--nothing", "1"], ["--token-bytes", "7"], ["--bundle", "x"]] {
            #expect(throws: SimulatorFailure.self) { _ = try PhonesProgram.options(arguments: bad, environment: [:]) }
        }
        for option in PhonesProgram.options { #expect(PhonesProgram.help.contains(option.flag)) }
    }
}
