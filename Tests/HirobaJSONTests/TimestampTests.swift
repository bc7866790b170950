import Foundation
import HirobaJSON
import Testing

@Suite("Moments as text")
struct TimestampTests {
    @Test(
        "are written in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_935_662_405_060, "2031-05-04T12:00:05.060Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (Int64.max, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func writes(milliseconds: Int64, text: String) {
        #expect(Timestamp.text(milliseconds) == text)
        if milliseconds < Int64.max { #expect(Timestamp.milliseconds(rfc3339: text) == milliseconds) }
    }

    @Test("agree with the system's calendar on every day of eight centuries")
    func everyDay() throws {
        let style = Date.ISO8601FormatStyle()
        for day in Int64(-146_097)..<146_097 where day % 7 == 0 {
            let milliseconds = day * 86_400_000 + 45_296_000
            let text = Timestamp.text(milliseconds)
            #expect(Timestamp.milliseconds(rfc3339: text) == milliseconds)
            // Foundation's calendar is the Julian one before October 1582.
            if day % 511 == 0, day > -141_400 {
                let known = Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(style)
                #expect(text == known.replacing("Z", with: ".000Z"))
            }
        }
    }

    @Test(
        "are read with any offset and any fraction",
        arguments: [
            ("2031-05-04T12:00:05Z", "2031-05-04T12:00:05.000Z"), ("2031-05-04t12:00:05z", "2031-05-04T12:00:05.000Z"),
            ("2031-05-04 12:00:05.1Z", "2031-05-04T12:00:05.100Z"),
            ("2031-05-04T12:00:05.123456789Z", "2031-05-04T12:00:05.123Z"),
            ("2031-05-04T12:00:05+09:00", "2031-05-04T03:00:05.000Z"),
            ("2031-01-01T00:00:00-05:30", "2031-01-01T05:30:00.000Z"),
        ])
    func reads(text: String, same: String) throws {
        let milliseconds = try #require(Timestamp.milliseconds(rfc3339: text))
        #expect(Timestamp.text(milliseconds) == same)
    }

    @Test(
        "that are none are refused",
        arguments: [
            "", "2031", "2031-05-04", "2031-05-04T12:00Z", "2031-05-04T12:00:05", "2031-5-4T12:00:05Z",
            "2031-13-01T00:00:00Z", "2031-00-01T00:00:00Z", "2031-02-29T00:00:00Z", "2031-04-31T00:00:00Z",
            "2031-01-00T00:00:00Z", "2100-02-29T00:00:00Z", "2031-01-01T24:00:00Z", "2031-01-01T00:60:00Z",
            "2031-01-01T00:00:60Z", "2031-01-01T00:00:00.Z", "2031-01-01T00:00:00+0900", "2031-01-01T00:00:00+09",
            "2031-01-01T00:00:00+24:00", "2031-01-01T00:00:00Zx", " 2031-01-01T00:00:00Z", "-031-01-01T00:00:00Z",
            "２０３１-01-01T00:00:00Z",
        ])
    func refuses(text: String) {
        #expect(Timestamp.milliseconds(rfc3339: text) == nil)
    }

    @Test(
        "of foreign services are read where that was asked for",
        arguments: [
            ("2019-11-07T08:46:15-0500", "2019-11-07T13:46:15.000Z"),
            ("2019-11-07T08:46:15+09", "2019-11-06T23:46:15.000Z"),
            ("2019-11-07T08:46:15", "2019-11-07T08:46:15.000Z"), ("2019-11-07T08:46:15.5Z", "2019-11-07T08:46:15.500Z"),
        ])
    func readsLoosely(text: String, same: String) throws {
        let milliseconds = try #require(Timestamp.milliseconds(iso8601: text))
        #expect(Timestamp.text(milliseconds) == same)
    }

    @Test("before the year 0 are read where that was asked for")
    func negativeYear() {
        // One year and 32 days before the first moment that can be written.
        #expect(
            Timestamp.milliseconds(iso8601: "-0001-11-30T00:00:00+0000") == Timestamp.range.lowerBound - 32 * 86_400_000
        )
        #expect(Timestamp.milliseconds(rfc3339: "-0001-11-30T00:00:00+00:00") == nil)
    }

    @Test("keep their millisecond as a Date")
    func dates() {
        for milliseconds in stride(from: Int64(-62_167_219_200_000), to: 253_402_300_799_999, by: 1_234_567_891) {
            #expect(Date(milliseconds: milliseconds).milliseconds == milliseconds)
        }
        #expect(Date(timeIntervalSince1970: .nan).milliseconds == nil)
        #expect(Date(timeIntervalSince1970: .infinity).milliseconds == nil)
    }
}
