internal import HirobaStore

extension SQL {
    /// A bound value that may be null. Interpolated directly, an optional makes the compiler warn of its debug text.
    static func bound<Value: SQLBindable>(_ value: Value) -> SQL { "\(value)" }
}
