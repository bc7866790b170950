/// A moment as text and back, by arithmetic on the proleptic Gregorian calendar: no locale, no time zone database.
///
/// Written is always RFC 3339 in UTC with milliseconds, `2031-05-04T12:00:00.000Z`: every text has the same length
/// for the years 0 to 9999, so texts sort as moments do.
package enum Timestamp {
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// The last and the first moment that RFC 3339 can write: the years 0 to 9999.
    package static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// Appends a moment, in milliseconds since 1970. What lies outside `range` is written as its nearest end.
    package static func append(_ milliseconds: Int64, to bytes: inout [UInt8]) {
        let moment = min(max(milliseconds, range.lowerBound), range.upperBound)
        var day = moment / millisecondsPerDay
        var rest = moment % millisecondsPerDay
        if rest < 0 {
            rest += millisecondsPerDay
            day -= 1
        }
        let date = civil(day)
        let (year, time) = (UInt64(date.year), UInt64(rest))
        // Eight characters at a time, the first in the lowest byte: `YYYY-MM-`, `DDThh:mm`, `:ss.mmmZ`.
        var first = digits(year / 100) | digits(year % 100) << 16 | character("-") << 32
        first |= digits(UInt64(date.month)) << 40 | character("-") << 56
        var second = digits(UInt64(date.day)) | character("T") << 16 | digits(time / 3_600_000) << 24
        second |= character(":") << 40 | digits(time / 60_000 % 60) << 48
        var third = character(":") | digits(time / 1_000 % 60) << 8 | character(".") << 24
        third |= digits(time / 10 % 100) << 32 | (character("0") + time % 10) << 48 | character("Z") << 56
        let text = (first.littleEndian, second.littleEndian, third.littleEndian)
        // Unsafe for speed only: the pointer stays here.
        unsafe withUnsafeBytes(of: text) { unsafe bytes.append(contentsOf: $0) }
    }

    /// A number below 100 as its two characters, the first in the lowest byte.
    private static func digits(_ value: UInt64) -> UInt64 { 0x3030 + value / 10 + (value % 10) << 8 }

    private static func character(_ character: Unicode.Scalar) -> UInt64 { UInt64(UInt8(ascii: character)) }

    /// A moment, in milliseconds since 1970, as text.
    package static func text(_ milliseconds: Int64) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        append(milliseconds, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Milliseconds since 1970 from RFC 3339: any offset, any number of digits after the second (what is below a
    /// millisecond is dropped). Nil when the text is anything else or names no real day or time.
    package static func milliseconds(rfc3339 text: String) -> Int64? {
        var fields = Fields(text)
        return fields.moment(looseOffset: false)
    }

    /// The same, but the offset may lack its colon (`-0500`), its minutes, or be absent altogether, which means UTC;
    /// and the year may have a sign, as foreign services write it for dates they do not know (`-0001-11-30T…`).
    package static func milliseconds(iso8601 text: String) -> Int64? {
        var fields = Fields(text)
        return fields.moment(looseOffset: true)
    }

    /// Year, month and day of a day counted from 1970-01-01. Months are counted from March, so that the leap day ends
    /// the year; 146,097 days are four centuries.
    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }

    /// The inverse of `civil`.
    private static func dayCount(year: Int64, month: Int64, day: Int64) -> Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let era = (yearFromMarch >= 0 ? yearFromMarch : yearFromMarch - 399) / 400
        let yearOfEra = yearFromMarch - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Reads the parts of a moment from front to back.
    private struct Fields {
        private let bytes: [UInt8]
        private var index = 0

        init(_ text: String) { bytes = Array(text.utf8) }

        mutating func moment(looseOffset: Bool) -> Int64? {
            let sign: Int64 = looseOffset && takes("-") ? -1 : 1
            guard let written = number(4), takes("-"), let month = number(2), takes("-"), let day = number(2),
                takes("T") || takes("t") || takes(" "), let hour = number(2), takes(":"), let minute = number(2),
                takes(":"), let second = number(2)
            else { return nil }
            let year = sign * written
            guard (1...12).contains(month), (1...days(in: month, of: year)).contains(day), hour < 24, minute < 60,
                second < 60, let millisecond = fraction(), let offset = offset(loose: looseOffset),
                index == bytes.count
            else { return nil }
            let minutes = (dayCount(year: year, month: month, day: day) * 24 + hour) * 60 + minute - offset
            return (minutes * 60 + second) * 1_000 + millisecond
        }

        private mutating func fraction() -> Int64? {
            guard takes(".") else { return 0 }
            var value: Int64 = 0
            var count = 0
            while let digit = digit() {
                if count < 3 { value = value * 10 + digit }
                count += 1
            }
            guard count > 0 else { return nil }
            for _ in min(count, 3)..<3 { value *= 10 }
            return value
        }

        /// Minutes east of UTC.
        private mutating func offset(loose: Bool) -> Int64? {
            if takes("Z") || takes("z") || (loose && index == bytes.count) { return 0 }
            let sign: Int64
            if takes("+") {
                sign = 1
            } else if takes("-") {
                sign = -1
            } else {
                return nil
            }
            guard let hours = number(2), hours < 24 else { return nil }
            if loose, index == bytes.count { return sign * hours * 60 }
            guard takes(":") || loose, let minutes = number(2), minutes < 60 else { return nil }
            return sign * (hours * 60 + minutes)
        }

        private mutating func number(_ count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        private mutating func digit() -> Int64? {
            guard index < bytes.count else { return nil }
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            index += 1
            return Int64(digit)
        }

        private mutating func takes(_ character: Character) -> Bool {
            guard index < bytes.count, bytes[index] == character.asciiValue else { return false }
            index += 1
            return true
        }
    }
}
