import Glibc
import HirobaContract
import HirobaJSON

/// The program as a function: what it is told comes in, text and an exit code come out.
package enum Program {
    package static let version = "0.1.0"

    /// Where the program's own words go. They are written at once, so that whoever started it sees a line when it is true.
    package enum Channel: Int32, Sendable {
        /// What a command was asked for.
        case output = 1
        /// Complaints and the log.
        case complaints = 2
    }

    package typealias Printer = @Sendable (String, Channel) -> Void

    /// Runs one command to its end.
    ///
    /// - Parameters:
    ///   - arguments: the command line without the program's name.
    ///   - signals: what the operating system asks of a running server; see `Signals.stream()`.
    ///   - phones: what stands beside the demo's forum.
    package static func run(
        arguments: [String], environment: [String: String], signals: AsyncStream<Int32>,
        phones: (any DemoPhones.Type)? = nil, print: Printer = write
    ) async -> ExitCode {
        func complain(_ text: String) { print("hiroba: \(text)\n", .complaints) }
        let invocation: Invocation
        do {
            invocation = try Invocation(arguments: arguments, environment: environment, readFile: readFile)
        } catch {
            complain("\(error)")
            return .usage
        }
        do {
            switch invocation.command {
            case .help:
                guard !arguments.isEmpty else {
                    print(Command.overview, .complaints)
                    return .usage
                }
                print(invocation.subject.map { Command.named($0).help } ?? Command.overview, .output)
            case .phones:
                // The executable runs it and does not come here with it: the server knows nothing of the simulator.
                print(Command.named(.phones).help, .output)
            case .version: print("hiroba \(version)\n", .output)
            case .openapi:
                let server = invocation.configuration.publicURL?.text ?? "/"
                print(String(decoding: OpenAPI.document(server: server).prettyBytes(), as: UTF8.self) + "\n", .output)
            case .check:
                let (text, isFine) = await Check.report(on: invocation)
                print(text, .output)
                return isFine ? .success : .failure
            case .migrate:
                let applied = try await HirobaApp.migrate(invocation.configuration)
                for name in applied { print("Applied: \(name)\n", .output) }
                print(applied.isEmpty ? "The database was up to date.\n" : "The database is up to date.\n", .output)
            case .push, .device:
                print(try await Inspection(invocation).text(), .output)
            case .serve, .demo:
                try await serve(invocation, signals: signals, phones, print)
            }
            return .success
        } catch {
            complain("\(error)")
            return .failure
        }
    }

    private static func serve(
        _ invocation: Invocation, signals: AsyncStream<Int32>, _ phones: (any DemoPhones.Type)?, _ print: Printer
    ) async throws {
        let log = Log()
        defer { log.flush() }
        for (name, nearest) in invocation.unknownVariables {
            log.note("\(name) is set, but no option." + (nearest.map { " Did you mean \($0)?" } ?? ""))
        }
        let app: HirobaApp
        if invocation.command == .demo {
            app = try await .demo(
                invocation.configuration, fresh: invocation.switches.contains("fresh"), log: log,
                phones: phones)
        } else {
            app = try await .start(invocation.configuration, log: log)
        }
        print("Hiroba answers at \(app.address)\n", .output)
        for await signal in signals {
            guard signal == SIGHUP else { break }
            app.reloadCertificates()
        }
        await app.stop()
    }

    /// Writes without a buffer.
    package static let write: Printer = { text, channel in
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(channel.rawValue, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) } else if errno != EINTR { return }
        }
    }
}
