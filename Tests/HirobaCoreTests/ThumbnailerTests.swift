import Glibc
import HirobaCore
import Testing
import TestSupport

/// Against the real child process, which the build puts beside the tests.
struct ThumbnailerTests {
    private let thumbnailer = Thumbnailer()

    @Test("A clean picture comes back byte for byte")
    func cleanPictures() async throws {
        let jpeg = try await thumbnailer.clean(SamplePictures.jpeg)
        #expect(jpeg == CleanPicture(type: "image/jpeg", width: 16, height: 8, bytes: SamplePictures.jpeg))
        let gif = try await thumbnailer.clean(SamplePictures.gif)
        #expect(gif == CleanPicture(type: "image/gif", width: 16, height: 8, bytes: SamplePictures.gif))
        let black = SamplePictures.blackPNG(width: 500, height: 400)
        let png = try await thumbnailer.clean(black)
        #expect(png == CleanPicture(type: "image/png", width: 500, height: 400, bytes: black))
    }

    @Test("An upright photo loses its place, and no pixel")
    func uprightPhoto() async throws {
        let picture = try await thumbnailer.clean(SamplePictures.jpegFromPhone(orientation: 1))
        #expect(picture.bytes == SamplePictures.jpeg)
    }

    @Test("A photo that lies on its side is turned, and loses its place")
    func turnedPhoto() async throws {
        let picture = try await thumbnailer.clean(SamplePictures.jpegFromPhone(orientation: 6))
        #expect(picture.type == "image/jpeg")
        #expect(picture.width == 8)
        #expect(picture.height == 16)
        #expect(!contains(picture.bytes, "Exif"))
        #expect(!contains(picture.bytes, SamplePictures.secret))
    }

    @Test(
        "A turned WebP stays WebP and loses its place", arguments: [SamplePictures.webp, SamplePictures.webpWithAlpha])
    func turnedWebP(sample: [UInt8]) async throws {
        // In place of the camera data of the sample, which end the file.
        let exif = SamplePictures.exif(orientation: 8)
        var bytes = Array(sample.dropLast(186 + 8))
        bytes += Array("EXIF".utf8) + [UInt8(exif.count), 0, 0, 0] + exif
        let length = bytes.count - 8
        bytes.replaceSubrange(4..<8, with: [UInt8(length & 255), UInt8(length >> 8), 0, 0])
        let picture = try await thumbnailer.clean(bytes)
        #expect(picture.type == "image/webp")
        #expect(picture.width == 8)
        #expect(picture.height == 16)
        #expect(!contains(picture.bytes, "EXIF"))
        #expect(!contains(picture.bytes, SamplePictures.secret))
    }

    @Test(
        "Formats that browsers do not all show become JPEG",
        arguments: [SamplePictures.heic, SamplePictures.avif, SamplePictures.tiff])
    func foreignFormats(bytes: [UInt8]) async throws {
        let picture = try await thumbnailer.clean(bytes)
        #expect(picture.type == "image/jpeg")
        #expect(picture.width == 16)
        #expect(picture.height == 8)
        #expect(picture.bytes.starts(with: [0xFF, 0xD8, 0xFF]))
    }

    @Test("A thumbnail fits into its square and is never larger than the picture")
    func thumbnails() async throws {
        let wide = try await thumbnailer.thumbnail(SamplePictures.blackPNG(width: 500, height: 400), size: 100)
        #expect(wide.type == "image/jpeg")
        #expect(wide.width == 100)
        #expect(wide.height == 80)
        let small = try await thumbnailer.thumbnail(SamplePictures.jpeg, size: 100)
        #expect(small.width == 16)
        let turned = try await thumbnailer.thumbnail(SamplePictures.jpegFromPhone(orientation: 6), size: 8)
        #expect(turned.width == 4)
        #expect(turned.height == 8)
        #expect(!contains(turned.bytes, SamplePictures.secret))
    }

    @Test("What is half transparent stays so in its thumbnail")
    func transparent() async throws {
        let picture = try await thumbnailer.thumbnail(SamplePictures.webpWithAlpha, size: 8)
        #expect(picture.type == "image/webp")
        #expect(picture.width == 8)
    }

    @Test("A picture of too many pixels is refused before it costs memory")
    func tooManyPixels() async throws {
        _ = try await thumbnailer.thumbnail(SamplePictures.jpeg, size: 8)
        let before = try peakMemory()
        let bomb = SamplePictures.blackPNG(width: 20_000, height: 20_000)
        #expect(bomb.count < 400_000)
        await #expect(throws: PictureError.tooManyPixels) { try await thumbnailer.clean(bomb) }
        await #expect(throws: PictureError.tooManyPixels) { try await thumbnailer.thumbnail(bomb, size: 100) }
        #expect(try peakMemory() - before < 64 << 20)
    }

    @Test("Forty megapixels are let in")
    func manyPixels() async throws {
        let picture = try await thumbnailer.thumbnail(SamplePictures.blackPNG(width: 8_000, height: 5_000), size: 320)
        #expect(picture.width == 320)
        #expect(picture.height == 200)
    }

    @Test(
        "What is no picture, or only the first part of one, is refused",
        arguments: [
            [], Array("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>".utf8),
            Array("%PDF-1.4".utf8), [UInt8](repeating: 0, count: 10_000), Array(SamplePictures.jpeg.dropLast(20)),
            Array(SamplePictures.heic.dropLast(20)), Array(SamplePictures.tiff.dropLast(100)),
            damagedPNG,
        ])
    func noPicture(bytes: [UInt8]) async throws {
        await #expect(throws: PictureError.notAPicture) { try await thumbnailer.clean(bytes) }
        await #expect(throws: PictureError.notAPicture) { try await thumbnailer.thumbnail(bytes, size: 100) }
    }

    /// Whole by its structure, but with half of its compressed pixels.
    private static let damagedPNG: [UInt8] = {
        let png = SamplePictures.blackPNG(width: 3_000, height: 3_000)
        let pixels = Array(png.dropFirst(33 + 8).dropLast(12 + 4))
        return Array(png.prefix(33)) + SamplePictures.pngChunk("IDAT", Array(pixels.prefix(pixels.count / 2)))
            + SamplePictures.pngChunk("IEND", [])
    }()

    @Test("After a child was killed the next job works")
    func killed() async throws {
        _ = try await thumbnailer.clean(SamplePictures.jpeg)
        let child = try #require(thumbnailer.processIDs.first)
        kill(child, SIGKILL)
        let picture = try await thumbnailer.clean(SamplePictures.jpeg)
        #expect(picture.bytes == SamplePictures.jpeg)
        #expect(thumbnailer.processIDs != [child])
    }

    @Test("One child serves jobs that come one after the other")
    func oneChild() async throws {
        _ = try await thumbnailer.clean(SamplePictures.jpeg)
        let before = thumbnailer.processIDs
        _ = try await thumbnailer.clean(SamplePictures.gif)
        #expect(thumbnailer.processIDs == before)
        #expect(before.count == 1)
    }

    @Test("Jobs that come at once all get their own answers")
    func manyJobs() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for width in 1...24 {
                group.addTask { [thumbnailer] in
                    let picture = try await thumbnailer.clean(SamplePictures.blackPNG(width: width, height: 3))
                    #expect(picture.width == width)
                }
            }
            try await group.waitForAll()
        }
        #expect((1...2).contains(thumbnailer.processIDs.count))
    }

    /// Reads until the end of its input, which does not come.
    private static let hangingProgram = "/usr/bin/tac"

    @Test("A child that hangs is killed at the deadline, and the job fails")
    func hanging() async throws {
        var options = Thumbnailer.Options()
        options.deadline = .milliseconds(100)
        let thumbnailer = Thumbnailer(executable: Self.hangingProgram, options: options)
        expectFailed(await failure(of: thumbnailer))
        #expect(thumbnailer.processIDs == [])
    }

    @Test(
        "A child that crashes, answers nonsense or cannot be started fails the job",
        arguments: ["/bin/false", "/usr/bin/yes", "/nowhere/hiroba-thumbnailer"])
    func broken(executable: String) async throws {
        let thumbnailer = Thumbnailer(executable: executable)
        expectFailed(await failure(of: thumbnailer))
        #expect(thumbnailer.processIDs == [])
    }

    @Test("When as many jobs wait as may, the next one is told so; stopping fails the others", .timeLimit(.minutes(1)))
    func busy() async throws {
        var options = Thumbnailer.Options()
        options.deadline = .seconds(3600)
        options.children = 1
        options.queue = 1
        let thumbnailer = Thumbnailer(executable: Self.hangingProgram, options: options)
        await withTaskGroup(of: PictureError?.self) { group in
            for _ in 0..<3 { group.addTask { await failure(of: thumbnailer) } }
            // One works, one waits; only the third can be over.
            #expect(await group.next() == .busy)
            thumbnailer.stop()
            for await error in group { expectFailed(error) }
        }
        #expect(thumbnailer.processIDs == [])
    }

    private func failure(of thumbnailer: Thumbnailer) async -> PictureError? {
        do throws(PictureError) {
            _ = try await thumbnailer.clean(SamplePictures.jpeg)
            return nil
        } catch {
            return error
        }
    }

    private func expectFailed(_ error: PictureError?) {
        if case .failed = error { return }
        Issue.record("\(String(describing: error))")
    }

    @Test("A child without work is ended after a while, and started again when there is work")
    func idle() async throws {
        var options = Thumbnailer.Options()
        options.idle = .milliseconds(20)
        let thumbnailer = Thumbnailer(options: options)
        for _ in 0..<2 {
            _ = try await thumbnailer.clean(SamplePictures.jpeg)
            let deadline = ContinuousClock.now + .seconds(10)
            while thumbnailer.processIDs != [], ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(thumbnailer.processIDs == [])
        }
    }

    @Test("A child sees none of our files")
    func files() async throws {
        // Without O_CLOEXEC, the worst that some library could do.
        let file = open("/dev/null", O_RDWR)
        defer { close(file) }
        _ = try await thumbnailer.clean(SamplePictures.jpeg)
        let child = try #require(thumbnailer.processIDs.first)
        var path = [CChar](repeating: 0, count: 1024)
        for number in 0..<max(256, file + 1) {
            let isOpen = readlink("/proc/\(child)/fd/\(number)", &path, path.count) >= 0
            #expect(isOpen == (number < 3))
        }
    }

    @Test("A child can open, write and become nothing")
    func confinement() async throws {
        _ = try await thumbnailer.clean(SamplePictures.jpeg)
        let child = try #require(thumbnailer.processIDs.first)
        let limits = try lines(of: "/proc/\(child)/limits").map { $0.split(separator: " ") }
        func limit(_ name: String) throws -> [Substring] {
            let words = name.split(separator: " ")
            return try #require(limits.first { $0.starts(with: words) }).dropFirst(words.count).prefix(2).map(\.self)
        }
        #expect(try limit("Max open files") == ["3", "3"])
        #expect(try limit("Max file size") == ["0", "0"])
        #expect(try limit("Max core file size") == ["0", "0"])
        #expect(try #require(Int(limit("Max address space")[0])) < 2 << 30)
        #expect(try #require(Int(limit("Max cpu time")[0])) < 60)
        #expect(try lines(of: "/proc/\(child)/status").contains("NoNewPrivs:\t1"))
        #expect(try lines(of: "/proc/\(child)/environ") == [])
    }

    @Test("A stopped thumbnailer makes no more pictures")
    func stopped() async throws {
        _ = try await thumbnailer.clean(SamplePictures.jpeg)
        let child = try #require(thumbnailer.processIDs.first)
        thumbnailer.stop()
        #expect(kill(child, 0) == -1)
        await #expect(throws: PictureError.self) { try await thumbnailer.clean(SamplePictures.jpeg) }
        #expect(thumbnailer.processIDs == [])
    }

    /// VmHWM of the only child, in bytes.
    private func peakMemory() throws -> Int {
        let child = try #require(thumbnailer.processIDs.first)
        let line = try #require(try lines(of: "/proc/\(child)/status").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber))) << 10
    }

    private func lines(of path: String) throws -> [String] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 8192)
        let count = fread(&text, 1, text.count, file)
        return String(decoding: text.prefix(count), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: text.utf8) }
    }
}
