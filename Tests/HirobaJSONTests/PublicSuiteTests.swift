import Foundation
import HirobaJSON
import Testing

/// The public collection of parsing cases (a folder `test_parsing` with files named `y_…`, `n_…` and `i_…`), when the
/// environment says where it lies: `JSON_TEST_SUITE=/path/to/folder swift test`. The tables in `JSONReaderTests` cover
/// the same ground.
private let suite: [URL] = {
    guard let path = ProcessInfo.processInfo.environment["JSON_TEST_SUITE"] else { return [] }
    let folders = [path, path + "/test_parsing"].map { URL(fileURLWithPath: $0, isDirectory: true) }
    return folders.flatMap {
        (try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)) ?? []
    }.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
}()

private func files(_ prefix: String) -> [URL] { suite.filter { $0.lastPathComponent.hasPrefix(prefix) } }

@Suite("The public JSON test suite", .enabled(if: !suite.isEmpty, "JSON_TEST_SUITE does not name its folder"))
struct PublicSuiteTests {
    /// Where the grammar leaves the decision to the reader, numbers of any size are kept and everything that is no
    /// Unicode is refused.
    private static let acceptedByChoice = ["i_number_"]

    @Test("takes what must be taken, and writes it so that it reads the same", arguments: files("y_"))
    func accepts(file: URL) throws {
        let value = try JSON.parse(Array(try Data(contentsOf: file)))
        #expect(try JSON.parse(value.bytes()) == value)
        #expect(try JSON.parse(value.prettyBytes()) == value)
    }

    @Test("refuses what must be refused", arguments: files("n_"))
    func refuses(file: URL) throws {
        let bytes = Array(try Data(contentsOf: file))
        #expect(throws: JSONError.self) { try JSON.parse(bytes) }
    }

    @Test("decides the open cases as documented", arguments: files("i_"))
    func decides(file: URL) throws {
        let bytes = Array(try Data(contentsOf: file))
        if Self.acceptedByChoice.contains(where: file.lastPathComponent.hasPrefix) {
            let value = try JSON.parse(bytes)
            #expect(try JSON.parse(value.bytes()) == value)
        } else {
            #expect(throws: JSONError.self) { try JSON.parse(bytes) }
        }
    }

    @Test("is there as a whole")
    func count() {
        #expect(files("y_").count >= 95)
        #expect(files("n_").count >= 187)
    }
}
