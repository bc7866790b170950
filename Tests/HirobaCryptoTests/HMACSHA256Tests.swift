import HirobaCrypto
import Testing

struct HMACSHA256Tests {
    @Test("Matches cases 1, 2, 3 and 6 of RFC 4231")
    func examples() {
        func sign(_ message: [UInt8], _ key: [UInt8]) -> String { Hex.encode(HMACSHA256.sign(message, key: key)) }
        #expect(
            sign(Array("Hi There".utf8), [UInt8](repeating: 0x0b, count: 20))
                == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        #expect(
            sign(Array("what do ya want for nothing?".utf8), Array("Jefe".utf8))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            sign([UInt8](repeating: 0xdd, count: 50), [UInt8](repeating: 0xaa, count: 20))
                == "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe")
        #expect(
            sign(
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                [UInt8](repeating: 0xaa, count: 131))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test("An empty key and an empty message are allowed")
    func empty() {
        #expect(
            Hex.encode(HMACSHA256.sign([], key: []))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test("Equal means the same bytes and the same length")
    func equality() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2, 3], [1, 2, 3]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2, 4]))
        #expect(!constantTimeEqual([1, 2, 3], [0, 2, 3]))
        #expect(!constantTimeEqual([1, 2, 3], [1, 2]))
        #expect(!constantTimeEqual([], [0]))
    }
}
