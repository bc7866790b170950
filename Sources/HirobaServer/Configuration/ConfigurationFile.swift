import HirobaJSON

/// The file of options: one JSON object whose names are those of the flags, with `//` and `/* */` comments.
enum ConfigurationFile {
    static func values(
        in bytes: [UInt8], named file: String
    ) throws(ConfigurationError) -> [(option: Option, values: [String])] {
        let document: JSON
        do {
            document = try JSON.parse(withoutComments(bytes))
        } catch {
            throw ConfigurationError("The configuration file \(file) is no JSON (with comments): \(error).")
        }
        guard case .object(let object) = document else {
            throw ConfigurationError("The configuration file \(file) must hold one object: { \"listen\": \":8080\" }.")
        }
        var result: [(option: Option, values: [String])] = []
        for member in object {
            let (name, value) = (member.name, member.value)
            guard let option = Option.named(name) else {
                let near = nearest(to: name, among: Option.all.map(\.name)).map { " Did you mean “\($0)”?" } ?? ""
                throw ConfigurationError("The configuration file \(file) has an unknown option “\(name)”.\(near)")
            }
            if option.takesJSON, value.string == nil {
                result.append((option, [String(decoding: value.bytes(), as: UTF8.self)]))
            } else if case .array(let items) = value, option.repeats {
                var texts: [String] = []
                for item in items { texts.append(try text(of: item, name, file)) }
                result.append((option, texts))
            } else {
                result.append((option, [try text(of: value, name, file)]))
            }
        }
        return result
    }

    private static func text(of value: JSON, _ name: String, _ file: String) throws(ConfigurationError) -> String {
        switch value {
        case .string(let text): return text
        case .integer(let number): return "\(number)"
        case .bool(let flag): return flag ? "on" : "off"
        default: throw ConfigurationError("“\(name)” in \(file) must be a text or a whole number.")
        }
    }

    /// The bytes with every comment turned into blanks, so that the places named by the JSON reader stay right.
    static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
        enum Place { case outside, string, escape, line, block }
        var place = Place.outside
        var result = bytes
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            switch place {
            case .outside:
                if byte == UInt8(ascii: "\"") {
                    place = .string
                } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/") || next == UInt8(ascii: "*") {
                    place = next == UInt8(ascii: "/") ? .line : .block
                    result[index] = 0x20
                    result[index + 1] = 0x20
                    index += 1
                }
            case .string:
                if byte == UInt8(ascii: "\\") { place = .escape }
                if byte == UInt8(ascii: "\"") { place = .outside }
            case .escape: place = .string
            case .line:
                if byte == 0x0A { place = .outside } else { result[index] = 0x20 }
            case .block:
                if byte != 0x0A { result[index] = 0x20 }
                if byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") {
                    result[index + 1] = 0x20
                    index += 1
                    place = .outside
                }
            }
            index += 1
        }
        return result
    }
}
