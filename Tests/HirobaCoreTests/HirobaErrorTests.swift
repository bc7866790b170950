import HirobaContract
import HirobaCore
import HirobaStore
import Testing

@Suite struct HirobaErrorTests {
    @Test(
        "a store that cannot work now is unavailable for a while, anything else is our fault",
        arguments: [
            (.full, .unavailable), (.unavailable, .unavailable), (.timeout, .unavailable), (.busy, .unavailable),
            (.serialization, .unavailable), (.unknownOutcome, .unavailable), (.programming, .internal),
            (.corrupt, .internal), (.uniqueViolation, .internal), (.foreignKeyViolation, .internal),
        ] as [(StoreError.Code, ErrorCode)])
    func storeErrors(_ code: StoreError.Code, _ expected: ErrorCode) {
        let error = HirobaError(StoreError(code, "disk", statement: "SELECT"))
        #expect(error.code == expected)
        #expect((error.retryAfter != nil) == (expected == .unavailable))
        // The log gets the reason, the caller does not.
        #expect(error.cause?.contains("SELECT") == true)
        #expect(!Language.allCases.contains { error.sentence[$0].contains("SELECT") })
    }

    @Test("a refusal stays what it is, an unknown error is ours")
    func others() {
        struct Unknown: Error {}
        #expect(HirobaError(HirobaError.forbidden as any Error).code == .forbidden)
        #expect(HirobaError(Unknown()).code == .internal)
        #expect(HirobaError(CancellationError()).code == .unavailable)
    }

    @Test(
        "every error is said in both languages",
        arguments: [
            HirobaError.unauthorized, .sessionEnded, .forbidden, .notFound, .emailTaken, .invalidCredentials,
            .tooLarge(limit: 20 << 20), .tooLarge(limit: 100), .tooManyPixels, .noPicture, .idempotencyConflict, .busy,
            .unavailable("x"), .internal("x"),
        ])
    func languages(_ error: HirobaError) {
        #expect(error.sentence[.english].utf8.allSatisfy { $0 < 0x80 } && error.sentence[.english].hasSuffix("."))
        #expect(error.sentence[.japanese].unicodeScalars.contains { $0.value > 0x3000 })
        #expect(error.sentence[.japanese].hasSuffix("。"))
    }
}
