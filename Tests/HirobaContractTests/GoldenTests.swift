import Foundation
import HirobaContract
import HirobaJSON
import Testing

/// The requests of every call as they went out when the call was released, kept as files. A later version must send and
/// understand the same bytes. `UPDATE_GOLDEN=1 swift test` writes files for new calls; a file that exists and would
/// change is a break of the contract.
@Suite("The requests kept as files")
struct GoldenTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    @Test("are sent to the byte", arguments: Samples.all)
    func golden(sample: Sample) throws {
        let encoded = try sample.encode()
        var document: JSON = [
            "call": .string(sample.call.name), "method": .string(encoded.method.rawValue),
            "path": .string(encoded.path),
        ]
        if let query = encoded.query { document["query"] = .string(query) }
        if let body = encoded.body {
            let value = try JSON.parse(body)
            #expect(value.bytes() == body, "a body is compact JSON")
            document["body"] = value
        }
        document["status"] = .integer(Int64(sample.call.successStatuses[0]))
        if let answer = try sample.answer() { document["answer"] = answer }
        let bytes = document.prettyBytes() + [UInt8(ascii: "\n")]

        let file = Self.folder.appendingPathComponent("\(sample.name).json")
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil { try Data(bytes).write(to: file) }
        let kept = try Data(contentsOf: file)
        #expect(
            String(decoding: bytes, as: UTF8.self) == String(decoding: kept, as: UTF8.self), "\(sample.name).json")
        #expect(Data(bytes) == kept)
    }

    @Test("are all in use")
    func noLeftovers() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter {
            $0.hasSuffix(".json")
        }
        #expect(Set(files) == Set(Samples.all.map { "\($0.name).json" }))
    }
}
