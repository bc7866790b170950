import HirobaPictures
import Testing

struct PictureJobTests {
    /// What the other side has read: the length tells how much follows, and that is the rest.
    private func body(_ frame: [UInt8]) throws -> [UInt8] {
        let body = Array(frame.dropFirst(PictureJob.lengthBytes))
        #expect(PictureJob.length(Array(frame.prefix(PictureJob.lengthBytes))) == body.count)
        return body
    }

    @Test("Jobs arrive as they were sent")
    func jobs() throws {
        for job in [PictureJob.clean([]), .clean([1, 2, 3]), .thumbnail([], size: 0), .thumbnail([9], size: 65_535)] {
            #expect(PictureJob(try body(job.frame)) == job)
        }
    }

    @Test("Answers arrive as they were sent")
    func answers() throws {
        let answers: [PictureJob.Answer] = [
            .picture(.webp, width: 1, height: 70_000, [1, 2]), .notAPicture("why"), .tooManyPixels, .failed("大変"),
        ]
        for answer in answers { #expect(PictureJob.Answer(try body(answer.frame)) == answer) }
    }

    @Test("Damaged frames are no jobs and no answers")
    func damaged() {
        for bytes: [UInt8] in [[], [0], [2, 1], [3, 1], [255]] { #expect(PictureJob(bytes) == nil) }
        for bytes: [UInt8] in [[], [0], [0, 99, 0, 0, 0, 1, 0, 0, 0, 1], [9]] {
            #expect(PictureJob.Answer(bytes) == nil)
        }
    }

    @Test("Lengths beyond the limit are refused before anything is read")
    func lengths() {
        #expect(PictureJob.length([0, 0, 1, 2]) == 258)
        #expect(PictureJob.length([0, 0, 0, 0]) == nil)
        #expect(PictureJob.length([255, 255, 255, 255]) == nil)
        #expect(PictureJob.length([1, 2]) == nil)
    }
}
