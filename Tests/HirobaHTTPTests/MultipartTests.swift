@testable import HirobaHTTP
import Testing

/// Hands out a body in pieces of one size, as a socket might.
private struct Pieces: AsyncSequence {
    let bytes: [UInt8]
    let size: Int

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>
        let size: Int
        mutating func next() async throws -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(size) }
            return Array(rest.prefix(size))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: bytes[...], size: size) }
}

private struct ReadPart: Equatable {
    var head: MultipartHead
    var bytes: [UInt8]
}

private func read(
    _ body: String, boundary: String = "XX", pieces: Int = 1_000, limits: MultipartLimits = MultipartLimits()
) async throws -> [ReadPart] {
    let reader = try MultipartReader(
        Pieces(bytes: Array(body.utf8), size: pieces), contentType: "multipart/form-data; boundary=\(boundary)",
        limits: limits)
    var parts: [ReadPart] = []
    while let part = try await reader.next() {
        parts.append(ReadPart(head: part.head, bytes: try await part.bytes(upTo: 100_000)))
    }
    return parts
}

private let form =
    "--XX\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nねこ\r\n--XX\r\n"
    + "content-disposition: form-data; name=\"photo\"; filename=\"cat %22x%22.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
    + "\r\n--X\r\n--XY\r\r\n--\r\n--XX\r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n--XX--\r\n"

@Suite("Multipart")
struct MultipartTests {
    @Test("A form is read the same however the network cuts it", arguments: [1, 2, 3, 7, 16, 1_000])
    func pieces(size: Int) async throws {
        let parts = try await read(form, pieces: size)
        #expect(
            parts == [
                ReadPart(head: MultipartHead(name: "title"), bytes: Array("ねこ".utf8)),
                ReadPart(
                    head: MultipartHead(name: "photo", filename: "cat \"x\".jpg", contentType: "image/jpeg"),
                    bytes: Array("\r\n--X\r\n--XY\r\r\n--".utf8)),
                ReadPart(head: MultipartHead(name: "empty"), bytes: []),
            ])
    }

    @Test("A preamble, blanks after a boundary and anything behind the end are allowed")
    func oddities() async throws {
        let parts = try await read("hello\r\n--XX \t\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--XX--")
        #expect(parts.map(\.bytes) == [Array("b".utf8)])
        let more = try await read(
            "--XX\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--XX--\r\n\r\n\r\n--XX\r\n")
        #expect(more.count == 1)
        #expect(try await read("--XX--").isEmpty)
    }

    @Test("Parts that are not read are skipped")
    func skipped() async throws {
        let reader = try MultipartReader(
            Pieces(bytes: Array(form.utf8), size: 5), contentType: "Multipart/Form-Data; boundary=\"XX\"")
        var names: [String] = []
        while let part = try await reader.next() { names.append(part.head.name) }
        #expect(names == ["title", "photo", "empty"])
    }

    @Test("A body that stops early is told from one that ended")
    func truncated() async throws {
        for length in stride(from: 0, to: form.utf8.count - 5, by: 3) {
            await #expect(throws: MultipartError.truncated, "\(length) bytes") {
                _ = try await read(String(decoding: Array(form.utf8).prefix(length), as: UTF8.self))
            }
        }
    }

    @Test("What breaks the format is refused by name")
    func malformed() async throws {
        await #expect(throws: MultipartError.malformed("no line break after a boundary")) {
            _ = try await read("--XXY\r\n")
        }
        await #expect(throws: MultipartError.malformed("a head without a colon")) {
            _ = try await read("--XX\r\nnonsense\r\n\r\n")
        }
        await #expect(throws: MultipartError.malformed("a part without a name")) {
            _ = try await read("--XX\r\nContent-Disposition: attachment; name=x\r\n\r\n")
        }
        await #expect(throws: MultipartError.malformed("a part without a name")) { _ = try await read("--XX\r\n\r\n") }
    }

    @Test("Limits hold: parts, a part's head, a field")
    func limits() async throws {
        await #expect(throws: MultipartError.tooManyParts) {
            _ = try await read(form, limits: MultipartLimits(parts: 2))
        }
        await #expect(throws: MultipartError.headTooLong) {
            _ = try await read(form, limits: MultipartLimits(headBytes: 40))
        }
        await #expect(throws: MultipartError.headTooLong) {
            _ = try await read("--XX\r\n" + String(repeating: "x", count: 9_000))
        }
        let reader = try MultipartReader(
            Pieces(bytes: Array(form.utf8), size: 5), contentType: "multipart/form-data; boundary=XX")
        let part = try #require(try await reader.next())
        await #expect(throws: MultipartError.fieldTooLong("title")) { _ = try await part.text(upTo: 5) }
    }

    @Test("What nobody asked for does not go on for ever: a part passed over, what stands before and after")
    func unwanted() async throws {
        let limits = MultipartLimits(unwantedBytes: 1000)
        let ballast = String(repeating: "x", count: 2000)
        let head = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n"
        for (body, isTooMuch) in [
            ("\(head)\(ballast)\r\n--XX--", true), ("\(head)x\r\n--XX--", false),
            ("\(ballast)\r\n\(head)x\r\n--XX--", true),
            ("\(head)x\r\n--XX--\r\n\(ballast)", true),
        ] {
            let reader = try MultipartReader(
                Pieces(bytes: Array(body.utf8), size: 50), contentType: "multipart/form-data; boundary=XX",
                limits: limits)
            let end: MultipartError?
            do {
                while try await reader.next() != nil {}
                end = nil
            } catch let error as MultipartError {
                end = error
            }
            #expect(end == (isTooMuch ? .tooMuchUnwanted : nil))
        }
        // Wanted bytes are counted by whoever wants them.
        let reader = try MultipartReader(
            Pieces(bytes: Array("\(head)\(ballast)\r\n--XX--".utf8), size: 50),
            contentType: "multipart/form-data; boundary=XX", limits: limits)
        #expect(try await reader.next()?.text(upTo: 2000) == ballast)
        #expect(try await reader.next() == nil)
    }

    @Test("Only multipart/form-data with a boundary is a form")
    func contentTypes() {
        let bad = [
            nil, "", "application/json", "multipart/mixed; boundary=x", "multipart/form-data",
            "multipart/form-data; boundary=", "multipart/form-data; boundary=" + String(repeating: "x", count: 71),
        ]
        for type in bad {
            #expect(throws: MultipartError.notMultipart) {
                _ = try MultipartReader(Pieces(bytes: [], size: 1), contentType: type)
            }
        }
    }

    @Test("Header parameters: quoted, bare, escaped, repeated")
    func parameters() {
        let (value, parameters) = HeaderParameters.parse(
            #"Form-Data ; Name="a;b" ; x=1;x=2; f="c:\dir\"q\".png"; flag"#)
        #expect(value == "form-data")
        #expect(parameters == ["name": "a;b", "x": "1", "f": #"c:\dir"q".png"#])
    }
}
