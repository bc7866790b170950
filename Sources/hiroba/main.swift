import Glibc
import HirobaServer

// First of all: from here on a signal is a wish and not the end.
let signals = Signals.stream()

var environment: [String: String] = [:]
var entry = environ
while let text = entry.pointee {
    let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
    entry += 1
}
let code = await Program.run(
    arguments: Array(CommandLine.arguments.dropFirst()), environment: environment, signals: signals)
exit(code.rawValue)
