import Glibc
import HirobaServer
import HirobaSimulator

// First of all: from here on a signal is a wish and not the end.
let signals = Signals.stream()

var environment: [String: String] = [:]
var entry = environ
while let text = entry.pointee {
    let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
    entry += 1
}
let arguments = Array(CommandLine.arguments.dropFirst())
// The stand-in for APNs shares nothing with the server but the program it comes in.
if arguments.first == "phones" {
    let code = await PhonesProgram.run(
        arguments: Array(arguments.dropFirst()), environment: environment, signals: signals
    ) { text, isComplaint in
        Program.write(text, isComplaint ? .complaints : .output)
    }
    exit(code)
}
let code = await Program.run(
    arguments: arguments, environment: environment, signals: signals, phones: SimulatedPhones.self)
exit(code.rawValue)
