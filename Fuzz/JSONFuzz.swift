// Compiled together with Sources/HirobaJSON, as one module.

/// Any bytes may be refused, none may stop the program. What is accepted must come back the same when it is written and
/// read again, and a value of an application must survive its way through the encoder's number and string rules.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    guard let value = try? JSON.parse(bytes) else { return 0 }

    let written = value.bytes()
    guard let again = try? JSON.parse(written) else {
        fatalError("written, but not readable: \(String(decoding: written, as: UTF8.self))")
    }
    guard again == value else {
        fatalError("read back as something else: \(String(decoding: written, as: UTF8.self))")
    }
    guard again.bytes() == written else {
        fatalError("written in two ways: \(String(decoding: written, as: UTF8.self))")
    }
    // What was accepted was UTF-8, so that nothing was repaired on the way.
    guard Array(String(decoding: bytes, as: UTF8.self).utf8) == bytes else {
        fatalError("accepted though it is not UTF-8")
    }
    return 0
}
