#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import HirobaStore

// The store keeps milliseconds, the contract speaks of dates. A `Double` holds milliseconds exactly for the next
// hundred thousand years.

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
}

extension Row {
    func date(_ column: Int) throws(StoreError) -> Date { Date(milliseconds: try integer(column)) }
}
