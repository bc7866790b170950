import Glibc
import HirobaHTTP
import HirobaThreads
import Testing

/// Runs other people's programs, on a thread of its own.
private actor Programs {
    private nonisolated let thread = WorkerThread(name: "programs")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Runs `command` in a shell for at most a minute. Returns how it ended and what it printed.
    func run(_ command: String) -> (status: Int, output: String) {
        guard let pipe = popen("timeout 60 sh -c '\(command)' 2>&1", "re") else { return (-1, "cannot start a shell") }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
        let status = pclose(pipe)
        return (Int(status >> 8 & 0xff), String(decoding: output, as: UTF8.self))
    }
}

private func run(_ command: String) async -> (status: Int, output: String) { await Programs().run(command) }

/// A folder with a certificate for `localhost`, gone with the test.
final class Certificate: Sendable {
    let folder: String
    var files: HTTPServerConfiguration.TLSFiles {
        .init(certificate: "\(folder)/certificate.pem", key: "\(folder)/key.pem")
    }

    init(name: String, hosts: String = "DNS:localhost,IP:127.0.0.1") async throws {
        var template = Array("/tmp/hiroba-certificate-XXXXXX".utf8CString)
        _ = mkdtemp(&template)
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try await make(name: name, hosts: hosts)
    }

    /// Puts another certificate into the same files.
    func make(name: String, hosts: String = "DNS:localhost,IP:127.0.0.1") async throws {
        let made = await run(
            "cd \(folder) && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                + "-subj /CN=\(name) -addext subjectAltName=\(hosts) -keyout key.pem -out certificate.pem"
        )
        try #require(made.status == 0, "\(made.output)")
    }

    deinit {
        for file in ["certificate.pem", "key.pem", "body"] { unlink("\(folder)/\(file)") }
        rmdir(folder)
    }
}

extension Conformance {
    /// With the clients people use: curl, nghttp and OpenSSL.
    @Suite("TLS, and other people's clients") struct Clients {
        @Test("curl speaks HTTP/1.1 and HTTP/2 in the clear", arguments: Engine.allCases)
        func clear(engine: Engine) async throws {
            try await withServer(engine, handler: echo) { server in
                for (option, version) in [
                    ("--http1.1", "1.1"), ("--http2-prior-knowledge", "2"), ("--http2", "1.1"), ("--http1.0", "1.1"),
                ] {
                    let (status, output) = await run(
                        "curl -sS \(option) -d hello -w \"|%{http_version}|%{http_code}\" http://127.0.0.1:\(server.port)/a"
                    )
                    #expect(status == 0)
                    #expect(output == "POST /a hello|\(version)|200", "\(option)")
                }
            }
        }

        @Test("h2load gets every answer, in the clear and by TLS", arguments: Engine.allCases)
        func load(engine: Engine) async throws {
            guard await run("command -v h2load").status == 0 else { return }
            let certificate = try await Certificate(name: "load")
            for tls in [nil, certificate.files] {
                try await withServer(engine, tls: tls, handler: echo) { server in
                    let scheme = tls == nil ? "http" : "https"
                    let (status, output) = await run(
                        "h2load -n 3000 -c 10 -m 20 \(scheme)://127.0.0.1:\(server.port)/a")
                    #expect(status == 0)
                    #expect(output.contains("3000 done, 3000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(output)")
                }
            }
        }

        @Test("ALPN chooses: HTTP/2, HTTP/1.1, or HTTP/1.1 without it", arguments: Engine.allCases)
        func negotiation(engine: Engine) async throws {
            let certificate = try await Certificate(name: "first")
            try await withServer(engine, tls: certificate.files) { request in
                text("\(request.version) \(request.isSecure)")
            } _: { server in
                let address = "https://localhost:\(server.port)/"
                let curl =
                    "curl -sS --resolve localhost:\(server.port):127.0.0.1 --cacert \(certificate.files.certificate)"
                #expect(await run("\(curl) --http2 \(address)").output == "http2 true")
                #expect(await run("\(curl) --http1.1 \(address)").output == "http11 true")
                #expect(await run("\(curl) --no-alpn \(address)").output == "http11 true")
                #expect(await run("\(curl) --tls-max 1.2 --http2 \(address)").output == "http2 true")

                let client = "openssl s_client -connect 127.0.0.1:\(server.port) </dev/null"
                #expect(await run("\(client) -alpn h2,http/1.1").output.contains("ALPN protocol: h2"))
                #expect(await run("\(client) -alpn http/1.1").output.contains("ALPN protocol: http/1.1"))
                let old = await run("\(client) -tls1_1 -cipher ALL:@SECLEVEL=0")
                #expect(!old.output.contains("Cipher is ECDHE"), "TLS 1.1 is no longer safe")
            }
        }

        @Test("where only HTTP/2 is spoken, whoever does not choose it gets no handshake")
        func http2Only() async throws {
            let certificate = try await Certificate(name: "first")
            var configuration = HTTPServerConfiguration(host: "127.0.0.1", port: 0, tls: certificate.files, loops: 1)
            configuration.speaksHTTP2Only = true
            let server = try HTTPServer(configuration: configuration, handler: echo)
            let address = "https://127.0.0.1:\(try await server.start().port)/a"
            #expect(await run("curl -sS --insecure --http2 \(address)").output == "GET /a ")
            #expect(await run("curl -sS --insecure --http1.1 \(address)").status != 0)
            #expect(await run("curl -sS --insecure --no-alpn \(address)").status != 0)
            await server.stop(grace: .zero)
        }

        @Test("large bodies go both ways by TLS, by either version", arguments: Engine.allCases)
        func large(engine: Engine) async throws {
            let certificate = try await Certificate(name: "large")
            _ = await run("head -c 5000000 /dev/urandom > \(certificate.folder)/body")
            try await withServer(engine, tls: certificate.files) { request in
                guard request.method == .post else {
                    return HTTPResponse(body: .file(path: "\(certificate.folder)/body", offset: 0, length: 5_000_000))
                }
                do {
                    return HTTPResponse(body: .bytes(try await request.body.collect(upTo: 5_000_000)))
                } catch {
                    return HTTPResponse(.badRequest)
                }
            } _: { server in
                let curl = "curl -sS --insecure https://127.0.0.1:\(server.port)/"
                let body = "\(certificate.folder)/body"
                for version in ["--http1.1", "--http2"] {
                    #expect(await run("\(curl) \(version) | cmp - \(body)").status == 0, "\(version) download")
                    #expect(
                        await run("\(curl) \(version) --data-binary @\(body) | cmp - \(body)").status == 0,
                        "\(version) echo")
                }
            }
        }

        @Test("a new certificate serves new connections, while old ones go on", arguments: Engine.allCases)
        func reload(engine: Engine) async throws {
            let certificate = try await Certificate(name: "first.example")
            try await withServer(engine, tls: certificate.files, handler: echo) { server in
                let ask = "openssl s_client -connect 127.0.0.1:\(server.port) </dev/null | openssl x509 -noout -subject"
                #expect(await run(ask).output.contains("first.example"))

                // A connection that stays: the second line is sent once the certificate has changed.
                let marker = "\(certificate.folder)/body"
                let line = "GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"
                let old = Task {
                    await run(
                        "(printf \"\(line)\"; i=0; while [ ! -e \(marker) ] && [ $i -lt 300 ]; do sleep 0.05; i=$((i+1)); done; "
                            + "printf \"GET /again HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n\"; sleep 1) "
                            + "| openssl s_client -quiet -connect 127.0.0.1:\(server.port)")
                }
                try await certificate.make(name: "second.example")
                #expect(await run(ask).output.contains("first.example"), "the files alone change nothing")
                try server.server.reloadCertificates()
                #expect(await run(ask).output.contains("second.example"))
                _ = await run("touch \(marker)")
                #expect(await old.value.output.contains("GET /again "))

                _ = await run("echo nonsense > \(certificate.files.certificate)")
                #expect(throws: (any Error).self) { try server.server.reloadCertificates() }
                #expect(await run(ask).output.contains("second.example"), "a bad file leaves the good certificate")
            }
        }

        @Test("a certificate that cannot be used is told at the start", arguments: Engine.allCases)
        func badCertificate(engine: Engine) async throws {
            let certificate = try await Certificate(name: "first")
            let other = try await Certificate(name: "other")
            var files = certificate.files
            files.key = other.files.key
            for files in [files, .init(certificate: "/nowhere", key: "/nowhere")] {
                await #expect(throws: (any Error).self) {
                    let server = try engine.make(HTTPServerConfiguration(host: "127.0.0.1", port: 0, tls: files), echo)
                    _ = try await server.start()
                }
            }
        }

        @Test(
            "whoever does not speak TLS is closed, at the latest after the handshake's time", arguments: Engine.allCases
        )
        func noHandshake(engine: Engine) async throws {
            let certificate = try await Certificate(name: "first")
            var limits = HTTPLimits()
            limits.handshakeTime = .milliseconds(300)
            try await withServer(engine, limits: limits, tls: certificate.files, handler: echo) { server in
                let clear = try server.connect()
                try await clear.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await clear.rest()
                let silent = try server.connect()
                #expect(try await silent.isClosed())
                let half = try server.connect()
                try await half.send([0x16, 3, 1, 2])
                _ = try await half.rest()
                let good = await run("curl -sS --insecure https://127.0.0.1:\(server.port)/a")
                #expect(good.output == "GET /a ")
            }
        }
    }
}
