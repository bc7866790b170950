/// What the program can do, one value a command; the table serves parsing and `--help` alike.
package struct Command: Sendable {
    package enum Name: String, Sendable, CaseIterable {
        case serve, demo, phones, push, device, check, migrate, openapi, help, version
    }

    /// What a command does is said by a second word: `hiroba push list`.
    package struct Action: Sendable {
        package let name: String
        /// What stands for the word behind it; nil when there is none.
        package var operand: String?
        package let summary: String
    }

    package let name: Name
    package let summary: String
    package let details: String
    /// Whether the options of `Option.all` apply.
    package let isConfigured: Bool
    /// Flags without a value that only this command knows.
    package var switches: [(name: String, summary: String)] = []
    /// Flags with a value that only this command knows.
    package var settings: [(name: String, placeholder: String, summary: String)] = []
    package var actions: [Action] = []
    /// The options that change what it does, if not all of them do.
    package var relevantOptions: Set<String>?
    package var exitCodes: [(code: ExitCode, meaning: String)]

    package static let all: [Command] = [
        Command(
            name: .serve, summary: "Serve the forum and the API.",
            details: """
                Makes the data folder at first start, brings the database up to date, prints one line with its address,
                and serves until SIGTERM or SIGINT. SIGHUP reads the TLS certificate and key again.
                """,
            isConfigured: true,
            exitCodes: [
                (.success, "stopped by a signal, with everything answered written"),
                (.failure, "could not start: the folder is in use, the port is taken, the database is unreachable"),
            ]),
        Command(
            name: .demo, summary: "Serve an example community, to look around.",
            details: """
                Like serve, in a folder of its own (./hiroba-demo) that is filled with people, topics and pictures. A second
                run goes on with the same data.
                """,
            isConfigured: true,
            switches: [("fresh", "Throw the demo's folder away first and begin again.")],
            exitCodes: [(.success, "stopped by a signal"), (.failure, "could not start")]),
        Command(
            name: .phones, summary: "Stand in for Apple's push service, with phones to look at.",
            details: "It shares nothing with the others and has options of its own: hiroba phones --help lists them.",
            isConfigured: false,
            exitCodes: [(.success, "stopped by a signal"), (.failure, "could not start")]),
        Command(
            name: .push, summary: "Tell what became of notifications.",
            details: readingDetails,
            isConfigured: true, switches: [jsonSwitch], settings: [limitSetting],
            actions: [
                Action(name: "list", summary: "The newest notifications, with how their deliveries ended."),
                Action(
                    name: "story", operand: "ID",
                    summary:
                        "All about one: the event, who was told and why others were not, what was sent, what came back. "
                        + "ID names a notification, one delivery (its apns-id), or what it is about (a comment)."),
            ],
            relevantOptions: ["data", "database"],
            exitCodes: [
                (.success, "told"), (.failure, "there is nothing with this ID, or the database cannot be read"),
            ]),
        Command(
            name: .device, summary: "Tell how the devices are that pushes go to.",
            details: readingDetails,
            isConfigured: true, switches: [jsonSwitch], settings: [limitSetting],
            actions: [
                Action(name: "list", summary: "The devices, newest registration first, each with its health."),
                Action(
                    name: "why", operand: "ID",
                    summary: "Why pushes reach this device or do not, and what to do about it."),
            ],
            relevantOptions: ["data", "database"],
            exitCodes: [
                (.success, "told"), (.failure, "there is no such device, or the database cannot be read"),
            ]),
        Command(
            name: .check, summary: "Print the configuration in force and what is wrong with it.",
            details: """
                Shows where each value comes from (passwords hidden), then tries the data folder, the database, the files and
                the certificate. Changes nothing.
                """,
            isConfigured: true,
            exitCodes: [(.success, "nothing is wrong"), (.failure, "something is wrong, and was named")]),
        Command(
            name: .migrate, summary: "Bring the database up to date and say what was done.",
            details: "serve does the same at its start; this is for those who want to see it happen apart.",
            isConfigured: true,
            exitCodes: [(.success, "the database is up to date"), (.failure, "it could not be opened or changed")]),
        Command(
            name: .openapi, summary: "Print the OpenAPI document of the API.",
            details: "The same document is served as /openapi.json.",
            isConfigured: true,
            exitCodes: [(.success, "printed")]),
        Command(
            name: .help, summary: "Explain the program, or one command: hiroba help serve.",
            details: "", isConfigured: false, exitCodes: [(.success, "printed")]),
        Command(
            name: .version, summary: "Print the version.",
            details: "", isConfigured: false, exitCodes: [(.success, "printed")]),
    ]

    package static func named(_ name: Name) -> Command {
        all.first { $0.name == name } ?? all[0]
    }

    private static let readingDetails = """
        Reads the database itself and changes nothing, so a server may be running on it. Takes the options of serve, of which
        these say where the database is.
        """
    private static let jsonSwitch = (name: "json", summary: "Print JSON, as the API answers it, for programs to read.")
    private static let limitSetting = (
        name: "limit", placeholder: "NUMBER", summary: "With list: how many to show. Default: 20, at most 1000."
    )

    package func action(_ name: String) -> Action? { actions.first { $0.name == name } }
}

/// How the program ends. The numbers are part of its interface.
package enum ExitCode: Int32, Sendable {
    case success = 0
    case failure = 1
    /// The command line, an environment variable or the file could not be understood; nothing was done.
    case usage = 2
}

/// A command with all it was told.
package struct Invocation: Sendable {
    package var command: Command.Name
    package var configuration = Configuration()
    /// Where each option's value comes from; those absent have their default.
    package var origins: [String: Origin] = [:]
    package var switches: Set<String> = []
    /// How many items a list shows.
    package var limit = 20
    /// Which of the command's actions, and the word behind it.
    package var action: String?
    package var operand: String?
    /// What `help` shall explain.
    package var subject: Command.Name?
    /// Environment variables that look like ours and are not known, each with the option probably meant.
    package var unknownVariables: [(name: String, nearest: String?)] = []

    package enum Origin: Sendable, Equatable, CustomStringConvertible {
        case flag
        case environment(String)
        case file(String)

        package var description: String {
            switch self {
            case .flag: "flag"
            case .environment(let name): name
            case .file(let path): path
            }
        }
    }

    /// Reads the command line (without the program's name), the environment and the file that `--config` or
    /// `HIROBA_CONFIG` names. A flag beats the environment, the environment beats the file.
    ///
    /// - Parameter readFile: gives the bytes of a file, or nil when it cannot be read.
    package init(
        arguments: [String], environment: [String: String], readFile: (String) -> [UInt8]?
    ) throws(ConfigurationError) {
        var arguments = arguments[...]
        switch arguments.first {
        case nil:
            self.init(command: .help)
            return
        case "--help", "-h":
            self.init(command: .help)
            return
        case "--version":
            self.init(command: .version)
            return
        case .some(let word):
            arguments.removeFirst()
            guard let command = Command.Name(rawValue: word) else {
                throw ConfigurationError(
                    "There is no command “\(word)”."
                        + suggestion(for: word, among: Command.Name.allCases.map(\.rawValue)))
            }
            self.init(command: command)
        }
        let flags = try Self.flags(of: arguments, for: Command.named(command))
        if flags.help {
            self = Invocation(command: .help)
            subject = flags.subject ?? Command.Name(rawValue: flags.command.rawValue)
            return
        }
        subject = flags.subject
        switches = flags.switches
        try takeAction(of: flags)
        if let text = flags.settings["limit"] {
            guard let limit = Int(text), (1...1000).contains(limit) else {
                throw ConfigurationError("--limit is “\(text)”, but must be a number from 1 to 1000.")
            }
            self.limit = limit
        }
        guard Command.named(command).isConfigured else { return }
        if command == .demo {
            configuration.data = "./hiroba-demo"
            // Somebody looks around at a terminal; the address should stay in sight.
            configuration.logsRequests = false
        }

        let file = flags.config ?? environment["HIROBA_CONFIG"]
        if let file {
            guard let bytes = readFile(file) else {
                throw ConfigurationError("The configuration file \(file) cannot be read.")
            }
            for (option, values) in try ConfigurationFile.values(in: bytes, named: file) {
                try apply(option, values, from: .file(file), as: "“\(option.name)” in \(file)")
            }
        }
        for option in Option.all {
            guard let value = environment[option.environmentName], !value.isEmpty else { continue }
            let values = option.repeats ? value.split(separator: ",").map { String(trimmingBlanks(of: $0)) } : [value]
            try apply(option, values, from: .environment(option.environmentName), as: option.environmentName)
        }
        for (option, values) in flags.values { try apply(option, values, from: .flag, as: option.flag) }

        guard (configuration.certificate == nil) == (configuration.key == nil) else {
            throw ConfigurationError("--tls-certificate and --tls-key belong together; only one of them is set.")
        }
        let known = Set(Option.all.map(\.environmentName) + ["HIROBA_CONFIG"])
        for name in environment.keys.sorted()
        where name.hasPrefix("HIROBA_") && !name.hasPrefix("HIROBA_TEST_") && !known.contains(name) {
            unknownVariables.append((name, nearest(to: name, among: known)))
        }
    }

    private init(command: Command.Name) { self.command = command }

    private mutating func takeAction(of flags: Flags) throws(ConfigurationError) {
        let command = Command.named(command)
        guard !command.actions.isEmpty else { return }
        guard let name = flags.action, let known = command.action(name) else {
            let choices = command.actions.map { $0.name + ($0.operand.map { " \($0)" } ?? "") }
            throw ConfigurationError(
                "hiroba \(command.name.rawValue) needs to be told what: \(choices.joined(separator: " or ")).")
        }
        if let operand = known.operand, flags.operand == nil {
            throw ConfigurationError("hiroba \(command.name.rawValue) \(name) needs one: \(operand).")
        }
        action = name
        operand = flags.operand
    }

    private mutating func apply(
        _ option: Option, _ values: [String], from origin: Origin, as name: String
    ) throws(ConfigurationError) {
        // What comes later replaces a list, it does not add to it.
        option.clearList?(&configuration)
        for value in values {
            do {
                try option.set(&configuration, value)
            } catch {
                throw ConfigurationError("\(name) \(error).")
            }
        }
        origins[option.name] = origin
    }

    // MARK: - Flags

    private struct Flags {
        var command: Command.Name
        var values: [(option: Option, values: [String])] = []
        var switches: Set<String> = []
        var config: String?
        var settings: [String: String] = [:]
        var action: String?
        var operand: String?
        var subject: Command.Name?
        var help = false
    }

    /// A word without dashes.
    private static func take(_ word: String, into flags: inout Flags, of command: Command) throws(ConfigurationError) {
        if command.name == .help, flags.subject == nil, let subject = Command.Name(rawValue: word) {
            flags.subject = subject
        } else if !command.actions.isEmpty, flags.action == nil {
            guard command.action(word) != nil else {
                throw ConfigurationError(
                    "hiroba \(command.name.rawValue) cannot “\(word)”."
                        + suggestion(for: word, among: command.actions.map(\.name)))
            }
            flags.action = word
        } else if let action = flags.action, flags.operand == nil, command.action(action)?.operand != nil {
            flags.operand = word
        } else {
            let name = [command.name.rawValue, flags.action].compactMap { $0 }.joined(separator: " ")
            throw ConfigurationError("hiroba \(name) takes flags only; “\(word)” is none.")
        }
    }

    private static func flags(of arguments: ArraySlice<String>, for command: Command) throws(ConfigurationError)
        -> Flags
    {
        var flags = Flags(command: command.name)
        var left = arguments
        while let word = left.popFirst() {
            if word == "--help" || word == "-h" {
                flags.help = true
                continue
            }
            guard word.hasPrefix("-") else {
                try take(word, into: &flags, of: command)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0].drop { $0 == "-" })
            if command.switches.contains(where: { $0.name == name }), parts.count == 1, word.hasPrefix("--") {
                flags.switches.insert(name)
                continue
            }
            if let setting = command.settings.first(where: { $0.name == name }), word.hasPrefix("--") {
                guard let value = parts.count == 2 ? String(parts[1]) : left.popFirst() else {
                    throw ConfigurationError("--\(name) needs a value: --\(name) \(setting.placeholder).")
                }
                guard flags.settings.updateValue(value, forKey: name) == nil else {
                    throw ConfigurationError("--\(name) is given twice.")
                }
                continue
            }
            let option = word.hasPrefix("--") && command.isConfigured ? Option.named(name) : nil
            guard option != nil || (name == "config" && command.isConfigured) else {
                let options = command.isConfigured ? Option.all.map(\.name) + ["config", "help"] : ["help"]
                let known = options + command.switches.map(\.name) + command.settings.map(\.name)
                throw ConfigurationError(
                    "hiroba \(command.name.rawValue) knows no \(parts[0])."
                        + suggestion(for: String(parts[0]), among: known.map { "--" + $0 }))
            }
            guard let value = parts.count == 2 ? String(parts[1]) : left.popFirst() else {
                throw ConfigurationError("--\(name) needs a value: --\(name) \(option?.placeholder ?? "FILE").")
            }
            if let option {
                if let index = flags.values.firstIndex(where: { $0.option.name == name }) {
                    guard option.repeats else { throw ConfigurationError("--\(name) is given twice.") }
                    flags.values[index].values.append(value)
                } else {
                    flags.values.append((option, [value]))
                }
            } else {
                guard flags.config == nil else { throw ConfigurationError("--config is given twice.") }
                flags.config = value
            }
        }
        return flags
    }
}

// MARK: - Help

extension Command {
    /// The text of `hiroba --help`.
    package static var overview: String {
        var text = """
            hiroba: a community's backend in one program.

            Usage: hiroba COMMAND [OPTIONS]

            Commands:

            """
        for command in all { text += "  " + padded(command.name.rawValue, to: 10) + command.summary + "\n" }
        text += """

            hiroba COMMAND --help explains a command and its options.

            Exit codes: 0 all went well, 1 it did not, 2 the command line or the configuration was not understood.

            """
        return text
    }

    /// The text of `hiroba COMMAND --help`.
    package var help: String {
        var text = "hiroba \(name.rawValue): \(summary)\n"
        if !details.isEmpty { text += "\n\(details)\n" }
        let options = isConfigured ? " [OPTIONS]" : name == .help ? " [COMMAND]" : ""
        if actions.isEmpty { text += "\nUsage: hiroba \(name.rawValue)\(options)\n" } else { text += "\nUsage:\n" }
        for action in actions {
            let operand = action.operand.map { " " + $0 } ?? ""
            text += "  hiroba \(name.rawValue) \(action.name)\(operand)\(options)\n      \(action.summary)\n"
        }
        if isConfigured {
            text += """

                Every option can also be set by the environment variable shown, or by its name in the file that --config
                (HIROBA_CONFIG) names: JSON, with comments. A flag beats the environment, the environment beats the file.

                Options:

                """
            for item in switches { text += "  --\(item.name)\n      \(item.summary)\n" }
            for item in settings { text += "  --\(item.name) \(item.placeholder)\n      \(item.summary)\n" }
            for option in Option.all where relevantOptions?.contains(option.name) ?? true {
                text += """
                      \(option.flag) \(option.placeholder)    (\(option.environmentName))
                          \(option.summary)
                          Default: \(option.defaultText). \(option.advice)

                    """
            }
            text += "  --config FILE    (HIROBA_CONFIG)\n      A file of options. Default: none.\n"
        }
        text += "\nExit codes:\n"
        for (code, meaning) in exitCodes { text += "  \(code.rawValue)  \(meaning)\n" }
        text += "  \(ExitCode.usage.rawValue)  the command line or the configuration was not understood\n"
        return text
    }
}

func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
}

// MARK: - Nearest match

/// " Did you mean …?", or nothing when no name is near.
private func suggestion(for word: String, among names: [String]) -> String {
    nearest(to: word, among: names).map { " Did you mean \($0)?" } ?? ""
}

/// The name with the fewest slips from `word`, if a third of the letters or fewer are wrong.
func nearest(to word: String, among names: some Sequence<String>) -> String? {
    let best = names.sorted().map { (name: $0, slips: editDistance(word, $0)) }.min { $0.slips < $1.slips }
    guard let best, best.slips <= max(2, word.count / 3) else { return nil }
    return best.name
}

/// Letters to add, remove, change or swap with their neighbour to turn one word into the other.
private func editDistance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8.prefix(64)))
    var older: [Int] = []
    var previous = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            var best = min(previous[column + 1], current[column]) + 1
            best = min(best, previous[column] + (left[row] == right[column] ? 0 : 1))
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, older[column - 1] + 1)
            }
            current.append(best)
        }
        (older, previous) = (previous, current)
    }
    return previous[right.count]
}
