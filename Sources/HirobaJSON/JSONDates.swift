#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Date {
    /// A moment in whole milliseconds since 1970, which is what Hiroba stores and sends.
    package init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    /// The nearest whole millisecond since 1970; nil for dates that are no number or lie beyond 64 bits.
    package var milliseconds: Int64? {
        Int64(exactly: (timeIntervalSince1970 * 1_000).rounded())
    }
}

/// How an API writes dates.
public struct JSONDates: Sendable {
    let encode: @Sendable (Date) -> JSON?
    let decode: @Sendable (JSON) -> Date?
    let expectation: String
    /// Our own way can be written without a value in between.
    let isRFC3339: Bool

    /// A way of its own. Both closures answer nil for what they cannot say or read.
    ///
    /// - Parameter expectation: completes "expected …" in the error, such as `a date like 2031-05-04`.
    public init(
        expectation: String, encode: @escaping @Sendable (Date) -> JSON?, decode: @escaping @Sendable (JSON) -> Date?
    ) {
        self.init(expectation: expectation, isRFC3339: false, encode: encode, decode: decode)
    }

    private init(
        expectation: String, isRFC3339: Bool, encode: @escaping @Sendable (Date) -> JSON?,
        decode: @escaping @Sendable (JSON) -> Date?
    ) {
        self.expectation = expectation
        self.isRFC3339 = isRFC3339
        self.encode = encode
        self.decode = decode
    }

    /// RFC 3339. Written in UTC with milliseconds, read with any offset.
    public static let rfc3339 = JSONDates(
        expectation: "a date like 2031-05-04T12:00:00.000Z", isRFC3339: true,
        encode: { date in date.milliseconds.map { .string(Timestamp.text($0)) } },
        decode: { value in
            value.string.flatMap { Timestamp.milliseconds(rfc3339: $0) }.map { Date(milliseconds: $0) }
        })

    /// ISO 8601 as many services write it: the offset may lack its colon (`2019-11-07T08:46:15-0500`) or be absent, and
    /// the year may have a sign. Written as RFC 3339.
    public static let iso8601 = JSONDates(
        expectation: "a date like 2031-05-04T12:00:00-0500", isRFC3339: true,
        encode: { date in date.milliseconds.map { .string(Timestamp.text($0)) } },
        decode: { value in
            value.string.flatMap { Timestamp.milliseconds(iso8601: $0) }.map { Date(milliseconds: $0) }
        })

    /// Seconds since 1970 as a number.
    public static let secondsSince1970 = JSONDates(
        expectation: "seconds since 1970",
        encode: { JSON.number($0.timeIntervalSince1970) },
        decode: { $0.double.map { Date(timeIntervalSince1970: $0) } })

    /// Milliseconds since 1970 as a whole number.
    public static let millisecondsSince1970 = JSONDates(
        expectation: "milliseconds since 1970",
        encode: { $0.milliseconds.map { .integer($0) } },
        decode: { $0.integer.map { Date(milliseconds: $0) } })
}
