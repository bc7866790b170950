import HirobaHTTP
import Testing

@Suite struct HTTPDateTests {
    @Test(
        "dates are written as RFC 9110 section 5.6.7 has it",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (4_102_444_800, "Fri, 01 Jan 2100 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        ])
    func text(_ seconds: Int, _ text: String) { #expect(HTTPDate.text(secondsSince1970: seconds) == text) }
}
