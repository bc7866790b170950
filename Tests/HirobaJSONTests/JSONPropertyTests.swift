import HirobaJSON
import Testing

/// Random numbers that are the same in every run.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

extension SplitMix {
    mutating func text() -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...6, using: &self) {
            let bound: UInt32 = [0x20, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF].randomElement(using: &self) ?? 0x7F
            if let scalar = Unicode.Scalar(UInt32.random(in: 0...bound, using: &self)) { scalars.append(scalar) }
        }
        return String(scalars)
    }

    mutating func value(depth: Int) -> JSON {
        switch Int.random(in: 0...(depth > 0 ? 7 : 5), using: &self) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &self))
        case 2: return .integer(Int64(bitPattern: next()) >> Int64.random(in: 0...63, using: &self))
        case 3: return JSON.number(Double(bitPattern: next())) ?? .null
        case 4, 5: return .string(text())
        case 6: return .array((0..<Int.random(in: 0...4, using: &self)).map { _ in value(depth: depth - 1) })
        default:
            let count = Int.random(in: 0...20, using: &self)
            return .object(JSONObject((0..<count).map { _ in (text(), value(depth: depth - 1)) }))
        }
    }
}

@Suite("Any JSON")
struct JSONPropertyTests {
    @Test("comes back the same after it was written, for machines and for people", arguments: 0..<20 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        for _ in 0..<50 {
            let value = random.value(depth: 4)
            let bytes = value.bytes()
            let back = try JSON.parse(bytes)
            #expect(back == value)
            #expect(back.hashValue == value.hashValue)
            #expect(back.bytes() == bytes)
            #expect(try JSON.parse(value.prettyBytes()).bytes() == bytes)
            #expect(try JSONCoding.decode(JSON.self, from: JSONCoding.encode(value)) == value)
        }
    }

    @Test(
        "that was damaged is refused with a place inside it, or read as something that can be written",
        arguments: 0..<20 as Range<UInt64>)
    func damage(seed: UInt64) throws {
        var random = SplitMix(state: 1_000 + seed)
        let signs = Array("{}[]\",:\\u0eE+-.tfn \u{7F}".utf8) + [0x00, 0x80, 0xC3, 0xED, 0xF4, 0xFF]
        for _ in 0..<200 {
            var bytes = random.value(depth: 3).bytes()
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let position = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes.insert(signs.randomElement(using: &random) ?? 0, at: position)
                case 1: if position < bytes.count { bytes.remove(at: position) }
                default: bytes.removeLast(bytes.count - position)
                }
            }
            let read: JSON
            do {
                read = try JSON.parse(bytes)
            } catch {
                #expect((0...bytes.count).contains(error.offset))
                #expect(error.line >= 1)
                continue
            }
            #expect(try JSON.parse(read.bytes()) == read)
        }
    }
}
