import HirobaCore
import HirobaServer
import Testing

@Suite("Command line, environment and file")
struct CommandTests {
    private func read(
        _ arguments: String..., environment: [String: String] = [:], files: [String: String] = [:]
    ) throws(ConfigurationError) -> Invocation {
        try Invocation(arguments: arguments, environment: environment) { files[$0].map { Array($0.utf8) } }
    }

    private func refusal(
        _ arguments: String..., environment: [String: String] = [:], files: [String: String] = [:]
    ) -> String? {
        do {
            _ = try Invocation(arguments: arguments, environment: environment) { files[$0].map { Array($0.utf8) } }
            return nil
        } catch {
            return error.description
        }
    }

    @Test("has safe defaults")
    func defaults() throws {
        let serve = try read("serve")
        #expect(serve.configuration == Configuration())
        #expect(serve.configuration.listen.description == "127.0.0.1:8080")
        #expect(serve.configuration.data == "./hiroba-data")
        #expect(serve.origins.isEmpty)
        #expect(serve.configuration.logsRequests)
        let demo = try read("demo").configuration
        #expect(demo.data == "./hiroba-demo")
        #expect(!demo.logsRequests)
    }

    @Test("refuses a number too large to count with", arguments: ["s", "ms", "KiB", "GiB", ""])
    func hugeNumbers(unit: String) {
        for digits in ["9999999999999999", "9223372036854775807", "99999999999999999999"] {
            for flag in ["--idle-time", "--max-upload", "--loops"] {
                #expect(throws: ConfigurationError.self) { try read("serve", flag, digits + unit) }
            }
        }
    }

    @Test("lets a flag beat the environment, the environment the file, and the file the default")
    func precedence() throws {
        let files = ["c.json": #"{"listen": ":1", "max-upload": "1MiB", "max-body": 2048, "idle-time": "5s"}"#]
        let environment = ["HIROBA_LISTEN": ":2", "HIROBA_MAX_UPLOAD": "2MiB"]
        let invocation = try read(
            "serve", "--config", "c.json", "--listen=:3", environment: environment, files: files)
        let configuration = invocation.configuration
        #expect(configuration.listen == ListenAddress(host: "", port: 3))
        #expect(configuration.uploadBytes == 2 << 20)
        #expect(configuration.bodyBytes == 2048)
        #expect(configuration.idleTime == .seconds(5))
        #expect(configuration.headBytes == 16 << 10)
        #expect(
            invocation.origins == [
                "listen": .flag, "max-upload": .environment("HIROBA_MAX_UPLOAD"), "max-body": .file("c.json"),
                "idle-time": .file("c.json"),
            ])
    }

    @Test("reads the file that HIROBA_CONFIG names, with comments in it")
    func fileWithComments() throws {
        let text = """
            // Where we answer.
            { "listen": "[::1]:80", /* two
            lines */ "trusted-proxy": ["10.0.0.0/8", "fd00::/8"], "data": "/srv//*not a comment*/x" }
            """
        let configuration = try read(
            "serve", environment: ["HIROBA_CONFIG": "/etc/h.json"], files: ["/etc/h.json": text]
        ).configuration
        #expect(configuration.listen == ListenAddress(host: "::1", port: 80))
        #expect(configuration.trustedProxies.map(\.description) == ["10.0.0.0/8", "fd00::/8"])
        #expect(configuration.data == "/srv//*not a comment*/x")
    }

    @Test("replaces a list, rather than adding to it, when it is told again by something stronger")
    func lists() throws {
        let files = ["c": #"{"trusted-proxy": ["192.0.2.1", "192.0.2.2"]}"#]
        #expect(try read("serve", "--config", "c", files: files).configuration.trustedProxies.count == 2)
        let environment = ["HIROBA_TRUSTED_PROXY": "10.0.0.1, 10.0.0.2"]
        let fromEnvironment = try read("serve", "--config", "c", environment: environment, files: files).configuration
        #expect(fromEnvironment.trustedProxies.map(\.description) == ["10.0.0.1", "10.0.0.2"])
        let fromFlags = try read(
            "serve", "--trusted-proxy", "::1", "--trusted-proxy", "127.0.0.0/8", environment: environment
        ).configuration
        #expect(fromFlags.trustedProxies.map(\.description) == ["::1", "127.0.0.0/8"])
    }

    @Test(
        "refuses what it does not know, and names the nearest thing it does",
        arguments: [
            (["serv"], "There is no command “serv”. Did you mean serve?"),
            (["serve", "--lsiten", ":1"], "hiroba serve knows no --lsiten. Did you mean --listen?"),
            (["serve", "--fresh"], "hiroba serve knows no --fresh."),
            (["demo", "--fersh"], "hiroba demo knows no --fersh. Did you mean --fresh?"),
            (["serve", "-listen", ":1"], "hiroba serve knows no -listen. Did you mean --listen?"),
            (["serve", "extra"], "hiroba serve takes flags only; “extra” is none."),
            (["serve", "--listen"], "--listen needs a value: --listen HOST:PORT."),
            (["serve", "--data", "a", "--data", "b"], "--data is given twice."),
            (["version", "--data", "a"], "hiroba version knows no --data."),
            (["serve", "--config", "absent"], "The configuration file absent cannot be read."),
            (["serve", "--tls-key", "k"], "--tls-certificate and --tls-key belong together; only one of them is set."),
            (["serve", "--blobs", "s3://b"], "--blobs names an S3 bucket, which is not built yet; give a folder."),
            (["serve", "--database", "mysql://"], "--database must begin with postgres://."),
            (["serve", "--request-log", "yes"], "--request-log is “yes”, but must be on or off."),
            (["serve", "--loops", "0"], "--loops is “0”, but must be a number from 1 to 256."),
            (["push"], "hiroba push needs to be told what: list or story ID."),
            (["push", "--json"], "hiroba push needs to be told what: list or story ID."),
            (["push", "lst"], "hiroba push cannot “lst”. Did you mean list?"),
            (["push", "story"], "hiroba push story needs one: ID."),
            (["push", "story", "a", "b"], "hiroba push story takes flags only; “b” is none."),
            (["push", "list", "a"], "hiroba push list takes flags only; “a” is none."),
            (["push", "list", "--limit", "1001"], "--limit is “1001”, but must be a number from 1 to 1000."),
            (["push", "list", "--limit"], "--limit needs a value: --limit NUMBER."),
            (["push", "list", "--limit", "1", "--limit=2"], "--limit is given twice."),
            (["serve", "--limit", "1"], "hiroba serve knows no --limit."),
            (["device", "whi", "d"], "hiroba device cannot “whi”. Did you mean why?"),
        ])
    func refusals(arguments: [String], sentence: String) {
        #expect(throws: ConfigurationError(sentence)) {
            try Invocation(arguments: arguments, environment: [:]) { _ in nil }
        }
    }

    @Test("says which variable or which line of the file is wrong")
    func otherRefusals() throws {
        #expect(
            refusal("serve", environment: ["HIROBA_MAX_BODY": "big"])?.hasPrefix("HIROBA_MAX_BODY is “big”") == true)
        #expect(
            refusal("serve", "--config", "c", files: ["c": #"{"lisen": ":1"}"#])
                == "The configuration file c has an unknown option “lisen”. Did you mean “listen”?")
        #expect(
            refusal("serve", "--config", "c", files: ["c": #"{"listen": null}"#])
                == "“listen” in c must be a text or a whole number.")
        #expect(
            refusal("serve", "--config", "c", files: ["c": "[]"])
                == #"The configuration file c must hold one object: { "listen": ":8080" }."#)
        #expect(
            refusal("serve", "--config", "c", files: ["c": "{"])?
                .hasPrefix("The configuration file c is no JSON (with comments)") == true)
    }

    @Test("takes what a command shall do, and about what, wherever the flags stand")
    func actions() throws {
        for words in [
            ["push", "story", "abc", "--json", "--data", "d"], ["push", "--json", "story", "--data=d", "abc"],
        ] {
            let story = try Invocation(arguments: words, environment: [:]) { _ in nil }
            #expect(story.command == .push && story.action == "story" && story.operand == "abc")
            #expect(story.switches == ["json"] && story.configuration.data == "d")
        }
        let list = try read("device", "list", "--limit", "7", environment: ["HIROBA_DATABASE": "postgres://h/n"])
        #expect(list.action == "list" && list.operand == nil && list.limit == 7)
        #expect(list.configuration.database == "postgres://h/n")
        #expect(try read("push", "story", "--help").subject == .push)
    }

    private static let apnsEntry = """
        {"environment": "production", "key-file": "k.p8", "key-id": "ABC123DEFG", "team-id": "DEF123GHIJ",
         "apps": ["org.example.app"]}
        """

    @Test("reads the ways to APNs from the file, the environment and a flag alike")
    func apns() throws {
        let entry = APNsEntry(
            environment: .production, keyFile: "k.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ",
            apps: ["org.example.app"])
        let file = ["c": "{ // Apple\n\"apns\": [\(Self.apnsEntry)] }"]
        #expect(try read("serve", "--config", "c", files: file).configuration.apns == [entry])
        #expect(try read("serve", environment: ["HIROBA_APNS": Self.apnsEntry]).configuration.apns == [entry])
        #expect(try read("serve", "--apns", "[]", "--config", "c", files: file).configuration.apns == [])
        let local = """
            [{"environment": "sandbox", "key-file": "k", "key-id": "ABC123DEFG", "team-id": "DEF123GHIJ",
              "apps": ["a.b", "c-d"], "host": "localhost", "port": 2197, "authority-file": "authority.pem"},
             \(Self.apnsEntry)]
            """
        let both = try read("serve", "--apns", local).configuration
        #expect(both.apns.count == 2 && both.apns[0].port == 2197 && both.apns[0].authorityFile == "authority.pem")
        #expect(
            Option.named("apns")?.show(both) == [
                "sandbox at localhost:2197: key ABC123DEFG of team DEF123GHIJ for a.b, c-d",
                "production: key ABC123DEFG of team DEF123GHIJ for org.example.app",
            ])
    }

    @Test(
        "says what is wrong with a way to APNs",
        arguments: [
            ("\"production\"", "\"live\"", "has the environment “live”, but must say sandbox or production."),
            ("\"key-id\"", "\"keyid\"", "has an unknown member “keyid”, perhaps for “key-id”."),
            ("ABC123DEFG", "ABC", "has “ABC” for its “key-id”, but Apple's have ten letters and digits."),
            ("\"k.p8\"", "7", "needs the text “key-file”."),
            ("[\"org.example.app\"]", "[]", "must list its “apps” by their bundle ids, such as [\"org.example.app\"]."),
            ("org.example.app", "a b", "must list its “apps” by their bundle ids, such as [\"org.example.app\"]."),
            ("\"apps\"", "\"port\": 0, \"apps\"", "has a “port” that is no number from 1 to 65535."),
        ])
    func badAPNs(what: String, with: String, sentence: String) {
        let text = Self.apnsEntry.replacing(what, with: with)
        #expect(refusal("serve", environment: ["HIROBA_APNS": text]) == "HIROBA_APNS \(sentence)")
        #expect(refusal("serve", "--apns", "[\(text)]") == "--apns (entry 1) \(sentence)")
    }

    @Test("refuses two ways to APNs for one app in one environment, and what is no entry at all")
    func moreBadAPNs() {
        #expect(
            refusal("serve", "--apns", "[\(Self.apnsEntry), \(Self.apnsEntry)]")
                == "--apns has two entries for org.example.app in the production environment; leave one.")
        #expect(refusal("serve", "--apns", "{")?.hasPrefix("--apns is no JSON: ") == true)
        #expect(refusal("serve", "--apns", "[3]")?.hasPrefix("--apns (entry 1) must be an object such as {") == true)
        let file = ["c": "{\"apns\": 3}"]
        #expect(refusal("serve", "--config", "c", files: file)?.hasPrefix("“apns” in c must be") == true)
    }

    @Test("notices variables that look like ours but are not")
    func unknownVariables() throws {
        let environment = ["HIROBA_LISTN": ":1", "HIROBA_TEST_POSTGRES": "off", "HOME": "/", "HIROBA_DATA": "d"]
        let unknown = try read("check", environment: environment).unknownVariables
        #expect(unknown.map(\.name) == ["HIROBA_LISTN"])
        #expect(unknown.first?.nearest == "HIROBA_LISTEN")
    }

    @Test(
        "explains itself",
        arguments: [
            ([], nil), (["--help"], nil), (["help"], nil), (["help", "check"], .check), (["serve", "--help"], .serve),
            (["demo", "-h"], .demo), (["serve", "--listen", "nonsense", "--help"], .serve),
        ] as [([String], Command.Name?)])
    func help(arguments: [String], subject: Command.Name?) throws {
        let invocation = try Invocation(arguments: arguments, environment: ["HIROBA_LISTEN": "nonsense"]) { _ in nil }
        #expect(invocation.command == .help)
        #expect(invocation.subject == subject)
    }

    @Test("documents every option with its variable, its default and advice, in the help of each command that takes it")
    func documentation() {
        for option in Option.all {
            #expect(!option.summary.isEmpty && !option.advice.isEmpty && !option.defaultText.isEmpty)
            for command in Command.all
            where command.isConfigured && command.relevantOptions?.contains(option.name) ?? true {
                #expect(command.help.contains(option.flag + " "))
                #expect(command.help.contains(option.environmentName))
            }
        }
        for command in Command.all {
            for action in command.actions {
                #expect(command.help.contains("hiroba \(command.name.rawValue) \(action.name)"))
                #expect(command.help.contains(action.summary))
            }
            for item in command.settings { #expect(command.help.contains("--\(item.name) \(item.placeholder)")) }
        }
        #expect(Command.all.map(\.name) == Command.Name.allCases)
        #expect(Command.overview.contains("Exit codes: 0"))
        #expect(Set(Option.all.map(\.name)).count == Option.all.count)
        #expect(Option.named("public-url")?.environmentName == "HIROBA_PUBLIC_URL")
    }

    @Test("shows by its options the defaults it documents")
    func shownDefaults() throws {
        let configuration = Configuration()
        for (name, text) in [
            "listen": "127.0.0.1:8080", "max-body": "1MiB", "max-upload": "20MiB", "max-head": "16KiB",
            "head-time": "10s", "idle-time": "60s", "max-connections": "10000",
            "max-connections-per-address": "1000",
        ] {
            let option = try #require(Option.named(name))
            #expect(option.show(configuration) == [text])
            #expect(option.defaultText == text)
        }
    }

    @Test("never shows the password of a database")
    func secrets() throws {
        let option = try #require(Option.named("database"))
        for address in [
            "postgres://me:s3cret@db/hiroba", "postgres://me:s3cret%40x@db:5432,[::1]:5433/hiroba", "postgres:///h",
            "postgresql://db/h?password=s3cret&a=b", "postgres://me:p@db/h?user=a&password=s3cret",
            "postgres://db/h?sslpassword=s3cret&password=s3cret", "postgres://db/h?pass%77ord=s3cret",
        ] {
            var configuration = Configuration()
            try option.set(&configuration, address)
            let shown = option.show(configuration).joined()
            #expect(!shown.contains("s3cret"))
            #expect(shown.hasPrefix("postgres"))
        }
    }

    @Test(
        "refuses a database address with a slip in its password before libpq can complain, and shows none of it",
        arguments: [
            "postgres://me:s3cret@x@db/hiroba", "postgres://me:s3cret/x@db/hiroba", "postgres://me:s3cret%zz@db/hiroba",
            "postgres://me:s3cret%00@db/hiroba", "postgres://me:s3cret%+a@db/h", "postgres://me:s3cret%",
            "postgres://me:s3cret@[::1/hiroba",
            "postgres://me:s3cret", "postgres://me:s3cret@[::1]x/h", "postgres://db/h?password=a&s3cret",
            "postgres://db/h?password=a=s3cret",
        ])
    func databaseAddresses(_ address: String) throws {
        let sentence = try #require(refusal("serve", "--database", address))
        #expect(sentence.hasPrefix("--database must look like postgres://USER:PASSWORD@HOST:PORT/NAME."))
        #expect(!sentence.contains("s3cret"))
    }
}

@Suite("Addresses")
struct NetworkAddressTests {
    @Test(
        "reads where to listen",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1", 8080), (":8080", "", 8080), ("[::1]:8080", "::1", 8080),
            ("localhost:0", "localhost", 0), ("0.0.0.0:65535", "0.0.0.0", 65_535),
        ])
    func listen(text: String, host: String, port: Int) throws {
        let address = try ListenAddress(parsing: text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.description == text)
    }

    @Test(
        "refuses other places to listen",
        arguments: [
            "", "8080", "localhost", "::1:8080", "[::1]", "[x]:1", "h:70000", "h:-1", "h:+1", "http://h:1", "a b:1",
        ])
    func noListen(text: String) {
        #expect(throws: ConfigurationError.self) { try ListenAddress(parsing: text) }
    }

    @Test("reads a public address without a path")
    func publicURL() throws {
        let address = try PublicURL(parsing: "https://forum.example/")
        #expect(address.text == "https://forum.example")
        #expect(address.isSecure)
        #expect(address.authority == "forum.example")
        #expect(try !PublicURL(parsing: "http://10.0.0.1:80").isSecure)
        for text in ["forum.example", "ftp://a", "https://", "https://a/b", "https://a b", "https://u@a"] {
            #expect(throws: ConfigurationError.self) { try PublicURL(parsing: text) }
        }
    }

    @Test(
        "knows which addresses a network holds",
        arguments: [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.8", false), ("172.16.0.0/12", "172.31.255.255", true),
            ("172.16.0.0/12", "172.32.0.0", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fd12::1", true), ("fd00::/8", "fe80::1", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("10.0.0.0/8", "no address", false),
        ])
    func ranges(network: String, address: String, isInside: Bool) throws {
        let proxies = TrustedProxies([try AddressRange(parsing: network)])
        #expect(proxies.contains(address) == isInside)
    }

    @Test("refuses networks that are none", arguments: ["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "a/8", "::/129"])
    func noRange(text: String) {
        #expect(throws: ConfigurationError.self) { try AddressRange(parsing: text) }
    }

    @Test("believes a named proxy about the client, and nobody else")
    func forwarded() throws {
        let proxies = TrustedProxies([try AddressRange(parsing: "10.0.0.0/8")])
        #expect(proxies.origin(peer: "192.0.2.1", forwardedFor: ["1.1.1.1"], forwardedProtocol: "https") == nil)
        let plain = proxies.origin(peer: "10.0.0.1", forwardedFor: ["203.0.113.5"], forwardedProtocol: "https")
        #expect(plain?.address == "203.0.113.5")
        #expect(plain?.isSecure == true)
        // The client wrote the first address itself; the second is what the outer proxy saw.
        let forged = proxies.origin(
            peer: "10.0.0.1", forwardedFor: ["127.0.0.1, 203.0.113.5", "10.0.0.9"], forwardedProtocol: nil)
        #expect(forged?.address == "203.0.113.5")
        #expect(forged?.isSecure == nil)
        let garbled = proxies.origin(peer: "10.0.0.1", forwardedFor: ["nonsense"], forwardedProtocol: "http")
        #expect(garbled?.address == "10.0.0.1")
        #expect(garbled?.isSecure == false)
    }
}
