import Glibc
import HirobaCore
import HirobaHTTP
import HirobaStore
import HirobaThreads

/// `hiroba check`: what is in force, and what is wrong with it. It changes nothing.
enum Check {
    static func report(on invocation: Invocation) async -> (text: String, isFine: Bool) {
        let (facts, problems) = await findings(invocation)
        var text = "In force:\n"
        for option in Option.all {
            let values = option.show(invocation.configuration)
            let origin = invocation.origins[option.name].map(\.description) ?? "default"
            text +=
                "  \(padded(option.name, to: 28))\(padded(values.isEmpty ? "–" : values.joined(separator: ", "), to: 32))\(origin)\n"
        }
        if !facts.isEmpty { text += "\nFound:\n" }
        for fact in facts { text += "  \(fact)\n" }
        text += problems.isEmpty ? "\nNothing is wrong.\n" : "\nWrong:\n"
        for problem in problems { text += "  \(problem)\n" }
        return (text, problems.isEmpty)
    }

    static func findings(_ invocation: Invocation) async -> (facts: [String], problems: [String]) {
        let configuration = invocation.configuration
        var facts: [String] = []
        var problems: [String] = []
        for (name, nearest) in invocation.unknownVariables {
            problems.append("\(name) is set, but no option." + (nearest.map { " Did you mean \($0)?" } ?? ""))
        }
        checkFolder(configuration.data, of: "data", &facts, &problems)
        let key = "\(configuration.data)/\(DataFolder.serverKeyName)"
        if access(key, F_OK) == 0 { facts.append("The server key, which may read pushes by the API, is in \(key).") }
        if let blobs = configuration.blobs { checkFolder(blobs, of: "files", &facts, &problems) }
        await checkDatabase(configuration, &facts, &problems)
        checkNetwork(configuration, &problems)
        checkAPNs(configuration.apns, &facts, &problems)
        let thumbnailer = ChildProcess.besideThisProgram("hiroba-thumbnailer")
        if access(thumbnailer, X_OK) != 0 {
            problems.append("The program \(thumbnailer) is missing: no picture can be taken or shown.")
        }
        let files = allowManyFiles()
        if files < configuration.connections + 100 {
            problems.append(
                "Only \(files) files may be open at once (ulimit -Hn), too few for \(configuration.connections) "
                    + "connections: allow \(configuration.connections + 100), or lower --max-connections.")
        }
        return (facts, problems)
    }

    private static func checkFolder(
        _ path: String, of what: String, _ facts: inout [String], _ problems: inout [String]
    ) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno != ENOENT {
                problems.append("The folder \(path) cannot be looked at: \(systemError(errno)).")
                return
            }
            // The nearest folder that is there must let us make the rest.
            var parent = path
            repeat {
                guard let slash = parent.lastIndex(of: "/") else { parent = "."; break }
                parent = slash == parent.startIndex ? "/" : String(parent[..<slash])
            } while access(parent, F_OK) != 0
            if access(parent, W_OK | X_OK) != 0 {
                problems.append(
                    "The folder \(path) is not there and cannot be made in \(parent): \(systemError(errno)).")
            } else {
                facts.append("The \(what) folder \(path) is not there yet; the first start makes it.")
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            problems.append("\(path) is not a folder.")
            return
        }
        if access(path, R_OK | W_OK | X_OK) != 0 {
            problems.append("The folder \(path) cannot be written to: \(systemError(errno)).")
        } else if status.st_mode & 0o077 != 0 {
            problems.append("Others on this machine can look into \(path): chmod 700 \(path)")
        }
        var space = statvfs()
        if statvfs(path, &space) == 0 {
            let free = Int(space.f_bavail) * Int(space.f_frsize)
            if free < 64 << 20 { problems.append("Only \(free >> 20) MiB are left on the disk of \(path).") }
        }
    }

    private static func checkDatabase(
        _ configuration: Configuration, _ facts: inout [String], _ problems: inout [String]
    ) async {
        // A database that is not there yet would be made by looking at it.
        if configuration.database == nil, access(configuration.databaseFile, F_OK) != 0 { return }
        do {
            // Without steps of our own nothing is migrated.
            let database = try await Database.open(HirobaApp.location(configuration), migrations: [])
            for setting in try await database.settings() {
                facts.append("\(setting.name) \(setting.value)")
                if let problem = setting.problem { problems.append(problem) }
            }
            await database.close()
        } catch let error as StoreError where error.code == .inUse {
            facts.append("A running hiroba is using \(configuration.data), so the database was not opened.")
        } catch {
            problems.append("The database cannot be opened: \(error).")
        }
    }

    private static func checkNetwork(_ configuration: Configuration, _ problems: inout [String]) {
        if let certificate = configuration.certificate, let key = configuration.key {
            do {
                _ = try HTTPServer(
                    configuration: HTTPServerConfiguration(tls: .init(certificate: certificate, key: key)),
                    handler: { _ in HTTPResponse() })
            } catch {
                problems.append("The certificate or its key cannot be used: \(error)")
            }
            var status = stat()
            if stat(key, &status) == 0, status.st_mode & 0o077 != 0 {
                problems.append("Others on this machine can read the key \(key): chmod 600 \(key)")
            }
        }
        let isLocal = ["127.0.0.1", "::1", "localhost"].contains(configuration.listen.host)
        if let url = configuration.publicURL, !url.isSecure, !url.authority.hasPrefix("localhost"),
            !url.authority.hasPrefix("127."), !url.authority.hasPrefix("[::1]")
        {
            problems.append("The public address \(url.text) is plain http: passwords and sessions travel readable.")
        }
        if !isLocal, configuration.certificate == nil, configuration.trustedProxies.isEmpty {
            problems.append(
                "\(configuration.listen) can be reached from the network without TLS. Give --tls-certificate and "
                    + "--tls-key, or name the proxy that does TLS with --trusted-proxy.")
        }
    }

    private static func checkAPNs(_ entries: [APNsEntry], _ facts: inout [String], _ problems: inout [String]) {
        if entries.isEmpty { facts.append("No way to APNs is configured (--apns): nothing is pushed.") }
        for entry in entries {
            do throws(ConfigurationError) {
                _ = try APNsSender.key(of: entry)
                facts.append("APNs \(entry).")
            } catch {
                problems.append("\(error)")
                continue
            }
            var status = stat()
            if stat(entry.keyFile, &status) == 0, status.st_mode & 0o077 != 0 {
                problems.append(
                    "Others on this machine can read the APNs key \(entry.keyFile): chmod 600 \(entry.keyFile)")
            }
            if let file = entry.authorityFile, access(file, R_OK) != 0 {
                problems.append("The authority \(file) of an APNs entry cannot be read: \(systemError(errno)).")
            }
        }
    }
}
