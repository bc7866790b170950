import Foundation

/// MD5 (RFC 1321), because the API asks for it. It protects nothing today: never use it for anything new.
enum MD5 {
    /// In lower-case hexadecimal digits.
    static func hex(_ text: String) -> String {
        var message = Array(text.utf8)
        let bits = UInt64(message.count) * 8
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        message += littleEndian(bits)

        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
        for start in stride(from: 0, to: message.count, by: 64) {
            let words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 | UInt32(message[start + word * 4 + $1]) << UInt32($1 * 8) }
            }
            let mixed = mix(state, words)
            for index in 0..<4 { state[index] &+= mixed[index] }
        }
        return state.flatMap(littleEndian).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private static func mix(_ state: [UInt32], _ words: [UInt32]) -> [UInt32] {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for step in 0..<64 {
            let (mixed, word): (UInt32, Int) =
                switch step / 16 {
                case 0: ((b & c) | (~b & d), step)
                case 1: ((d & b) | (~d & c), (5 * step + 1) % 16)
                case 2: (b ^ c ^ d, (3 * step + 5) % 16)
                default: (c ^ (b | ~d), 7 * step % 16)
                }
            let sum = a &+ mixed &+ constants[step] &+ words[word]
            let turn = turns[step / 16][step % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum << turn | sum >> (32 - turn)))
        }
        return [a, b, c, d]
    }

    private static let turns: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
    private static let constants = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }

    private static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> Number($0 * 8)) }
    }
}
