/// `hiroba phones` as a function: what it is told comes in, text and an exit code come out.
package enum PhonesProgram {
    /// One thing it can be told. This table serves flags, environment and help.
    struct Option: Sendable {
        let name: String
        let placeholder: String
        let summary: String
        let defaultText: String
        let set: @Sendable (inout Simulator.Options, String) throws(SimulatorFailure) -> Void

        var flag: String { "--" + name }
        var environmentName: String {
            "HIROBA_PHONES_" + name.uppercased().replacing("-", with: "_")
        }
    }

    static let options: [Option] = [
        Option(
            name: "data", placeholder: "FOLDER",
            summary: "Folder of the certificate authority, the provider keys and the phones; made at first start.",
            defaultText: "./hiroba-phones",
            set: { (options, text) throws(SimulatorFailure) in options.folder = try nonEmpty(text) }),
        Option(
            name: "listen", placeholder: "HOST:PORT",
            summary: "Where the sandbox answers (HTTP/2 over TLS); port 0 takes any free port.",
            defaultText: "127.0.0.1:2197",
            set: { (options, text) throws(SimulatorFailure) in options.sandbox = try address(text) }),
        Option(
            name: "listen-production", placeholder: "HOST:PORT",
            summary: "Where production answers, with tokens of its own.", defaultText: "127.0.0.1:2198",
            set: { (options, text) throws(SimulatorFailure) in options.production = try address(text) }),
        Option(
            name: "web", placeholder: "HOST:PORT", summary: "Where the page with the phones answers.",
            defaultText: "127.0.0.1:8070",
            set: { (options, text) throws(SimulatorFailure) in options.web = try address(text) }),
        Option(
            name: "bundle", placeholder: "ID",
            summary: "Bundle id of an app that may be sent to and that new phones have. Several: with commas.",
            defaultText: Simulator.firstBundle,
            set: { (options, text) throws(SimulatorFailure) in
                options.bundles = text.split(separator: ",").map(String.init)
                guard !options.bundles.isEmpty, options.bundles.allSatisfy(Topic.isWellFormed) else {
                    throw SimulatorFailure("“\(text)” is no bundle id such as org.example.app.")
                }
            }),
        Option(
            name: "app-url", placeholder: "URL", summary: "The site that taps open: a link in a push is a path of it.",
            defaultText: "none: taps open nothing",
            set: { (options, text) throws(SimulatorFailure) in
                guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
                    throw SimulatorFailure("“\(text)” must begin with http:// or https://.")
                }
                options.webBase = text
                options.pages.pageOrigins = [origin(of: text)]
            }),
        Option(
            name: "picture-host", placeholder: "HOST",
            summary: "Host besides this machine from which pictures are fetched. Several: with commas.",
            defaultText: "this machine only",
            set: { (options, text) throws(SimulatorFailure) in
                options.pictureHosts = Set(text.split(separator: ",").map(String.init))
            }),
        Option(
            name: "token-bytes", placeholder: "32|80", summary: "How long new device tokens are.", defaultText: "32",
            set: { (options, text) throws(SimulatorFailure) in
                guard let bytes = Int(text), [32, 80].contains(bytes) else {
                    throw SimulatorFailure("--token-bytes is “\(text)”, but must be 32 or 80.")
                }
                options.tokenBytes = bytes
            }),
        Option(
            name: "token-updates", placeholder: "strict|lenient",
            summary: "How many new provider tokens a connection may bring in 20 minutes: 1, or 5 as observed.",
            defaultText: "lenient",
            set: { (options, text) throws(SimulatorFailure) in
                guard let updates = ["strict": 1, "lenient": 5][text] else {
                    throw SimulatorFailure("--token-updates is “\(text)”, but must be strict or lenient.")
                }
                options.tokenUpdates = updates
            }),
    ]

    package static var help: String {
        """
        Usage: hiroba phones [OPTION VALUE]…

        Stands in for Apple's push service: a front that answers as APNs does, and simulated phones in the browser that
        show what a push does. Nothing here reaches a real phone, and no Apple account is needed.

        \(options.map { option in
            """
              \(option.flag) \(option.placeholder)
                  \(option.summary)
                  Default: \(option.defaultText). Environment: \(option.environmentName)
            """
        }.joined(separator: "\n"))

        """
    }

    /// - Throws: a sentence about what was told wrong.
    package static func options(
        arguments: [String], environment: [String: String]
    ) throws(SimulatorFailure) -> Simulator.Options {
        var result = Simulator.Options(folder: "./hiroba-phones")
        result.web = Simulator.Address(host: "127.0.0.1", port: 8070)
        for option in options {
            guard let value = environment[option.environmentName] else { continue }
            try option.set(&result, value)
        }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let halves = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let option = options.first(where: { $0.flag == halves[0] }) else {
                throw SimulatorFailure("There is no option \(argument) for phones. `hiroba phones --help` lists them.")
            }
            guard let value = halves.count > 1 ? String(halves[1]) : rest.popFirst() else {
                throw SimulatorFailure("\(option.flag) needs a value: \(option.placeholder).")
            }
            try option.set(&result, value)
        }
        return result
    }

    /// Runs until a signal comes.
    ///
    /// - Parameters:
    ///   - arguments: the command line behind `hiroba phones`.
    ///   - print: text for standard output, or for standard error.
    /// - Returns: the exit code: 0, 1 when it cannot run, 2 when it was told something wrong.
    package static func run(
        arguments: [String], environment: [String: String], signals: AsyncStream<Int32>,
        print: @Sendable (_ text: String, _ isComplaint: Bool) -> Void
    ) async -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(help, false)
            return 0
        }
        let options: Simulator.Options
        do {
            options = try self.options(arguments: arguments, environment: environment)
        } catch {
            print("hiroba: \(error)\n", true)
            return 2
        }
        let simulator: Simulator
        do {
            simulator = try await Simulator.start(options)
        } catch {
            print("hiroba: \(error)\n", true)
            return 1
        }
        print(await greeting(simulator, options), false)
        // Only a hang-up is not meant as an end.
        for await signal in signals where signal != 1 { break }
        await simulator.stop()
        return 0
    }

    private static func greeting(_ simulator: Simulator, _ options: Simulator.Options) async -> String {
        func host(_ address: Simulator.Address?) -> String {
            guard let host = address?.host, !host.isEmpty, host != "::", host != "0.0.0.0" else { return "127.0.0.1" }
            return host.contains(":") ? "[\(host)]" : host
        }
        var text = ""
        if let port = simulator.webPort { text += "The phones are at http://\(host(options.web)):\(port)/\n" }
        text += "APNs sandbox:    https://\(host(options.sandbox)):\(simulator.sandboxPort)\n"
        text += "APNs production: https://\(host(options.production)):\(simulator.productionPort)\n"
        text += "Authority to trust: \(simulator.authorityFile)\n"
        text += "Key: \(simulator.keyFile) (key id \(ProviderKeys.firstKey), team id \(ProviderKeys.firstTeam))\n"
        text += "Topics: \(options.bundles.joined(separator: ", "))\n"
        for phone in await simulator.phones.all {
            for app in phone.apps where app.isInstalled { text += "Token of \(phone.name): \(app.token)\n" }
        }
        return text
    }

    // MARK: Values

    private static func nonEmpty(_ text: String) throws(SimulatorFailure) -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else { throw SimulatorFailure("--data must be a folder.") }
        return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func address(_ text: String) throws(SimulatorFailure) -> Simulator.Address {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw SimulatorFailure("“\(text)” is no address such as 127.0.0.1:2197.") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return Simulator.Address(host: host.isEmpty ? "::" : String(host), port: port)
    }

    /// Scheme, host and port of a web address.
    package static func origin(of address: String) -> String {
        let scheme = address.hasPrefix("https://") ? "https://" : "http://"
        return scheme + address.dropFirst(scheme.count).prefix { $0 != "/" }.lowercased()
    }
}
