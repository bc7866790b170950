import HirobaHTTP
import HirobaThreads
import Testing

@Suite struct HTTPRequestBodyTests {
    private final class Pieces: HTTPBodySource {
        private let pieces: Lock<[[UInt8]]>
        private let failure: HTTPBodyError?

        init(_ pieces: [[UInt8]], then failure: HTTPBodyError? = nil) {
            self.pieces = Lock(pieces)
            self.failure = failure
        }

        var left: Int { pieces.withLock { $0.count } }

        func next() async throws(HTTPBodyError) -> [UInt8]? {
            if let piece = pieces.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return piece }
            if let failure { throw failure }
            return nil
        }
    }

    @Test("collecting gives the whole body, or says that it is too large, as early as can be")
    func collect() async throws {
        #expect(try await HTTPRequestBody.empty.collect(upTo: 0) == [])
        #expect(try await HTTPRequestBody([1, 2, 3]).collect(upTo: 3) == [1, 2, 3])
        await #expect(throws: HTTPBodyError.tooLarge) { try await HTTPRequestBody([1, 2, 3]).collect(upTo: 2) }
        let whole = HTTPRequestBody(source: Pieces([[1], [2, 3]]), length: nil)
        #expect(try await whole.collect(upTo: 3) == [1, 2, 3])

        let announced = Pieces([[1]])
        await #expect(throws: HTTPBodyError.tooLarge) {
            try await HTTPRequestBody(source: announced, length: 100).collect(upTo: 99)
        }
        #expect(announced.left == 1, "nothing is read of a body that announces too much")
        let endless = Pieces(Array(repeating: [1, 2], count: 100))
        await #expect(throws: HTTPBodyError.tooLarge) {
            try await HTTPRequestBody(source: endless, length: nil).collect(upTo: 5)
        }
        #expect(endless.left == 97)
        await #expect(throws: HTTPBodyError.disconnected) {
            try await HTTPRequestBody(source: Pieces([[1]], then: .disconnected), length: nil).collect(upTo: 5)
        }
    }

    @Test("iterating gives the pieces as they come")
    func iterate() async throws {
        var pieces: [[UInt8]] = []
        for try await piece in HTTPRequestBody(source: Pieces([[1], [2, 3]]), length: 3) { pieces.append(piece) }
        #expect(pieces == [[1], [2, 3]])
        for try await piece in HTTPRequestBody([4]) { pieces.append(piece) }
        for try await piece in HTTPRequestBody.empty { pieces.append(piece) }
        #expect(pieces == [[1], [2, 3], [4]])
    }
}
