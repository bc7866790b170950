import CPostgres
import CSQLite
import Glibc

/// One row of an answer, good only while the closure that was given it runs. Columns are counted from 0 in the order of
/// the SELECT.
///
/// A column of another type, or a null where none was expected, is an error and not a silent conversion, on both engines.
package struct Row: ~Copyable {
    enum Source {
        case sqlite(OpaquePointer)
        case postgres(OpaquePointer, row: Int32)
    }

    let source: Source
    let count: Int

    package func isNull(_ column: Int) throws(StoreError) -> Bool {
        try mustHave(column)
        switch source {
        case .sqlite(let statement): return sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL
        case .postgres(let result, let row): return PQgetisnull(result, row, Int32(column)) == 1
        }
    }

    private func mustHave(_ column: Int) throws(StoreError) {
        guard column >= 0, column < count else {
            throw StoreError(.programming, "the row has \(count) columns and no column \(column)")
        }
    }

    package func optionalText(_ column: Int) throws(StoreError) -> String? {
        try withTextBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    package func optionalInteger(_ column: Int) throws(StoreError) -> Int64? {
        switch source {
        case .sqlite(let statement):
            try mustHave(column)
            switch sqlite3_column_type(statement, Int32(column)) {
            case SQLITE_INTEGER: return sqlite3_column_int64(statement, Int32(column))
            case SQLITE_NULL: return nil
            default: throw wrongType(column, "an integer")
            }
        case .postgres(let result, let row):
            guard try !isNull(column) else { return nil }
            guard PostgresType.isInteger(PQftype(result, Int32(column))),
                let value = Int64(bytes: field(result, row, column))
            else { throw wrongType(column, "an integer") }
            return value
        }
    }

    package func optionalReal(_ column: Int) throws(StoreError) -> Double? {
        guard try !isNull(column) else { return nil }
        switch source {
        case .sqlite(let statement):
            let type = sqlite3_column_type(statement, Int32(column))
            guard type == SQLITE_FLOAT || type == SQLITE_INTEGER else { throw wrongType(column, "a number") }
            return sqlite3_column_double(statement, Int32(column))
        case .postgres(let result, let row):
            guard PostgresType.isNumber(PQftype(result, Int32(column))),
                let value = Double(String(decoding: field(result, row, column), as: UTF8.self))
            else { throw wrongType(column, "a number") }
            return value
        }
    }

    package func optionalBool(_ column: Int) throws(StoreError) -> Bool? {
        guard try !isNull(column) else { return nil }
        if case .postgres(let result, let row) = source, PQftype(result, Int32(column)) == PostgresType.boolean {
            return field(result, row, column).first == UInt8(ascii: "t")
        }
        return try integer(column) != 0
    }

    package func optionalBytes(_ column: Int) throws(StoreError) -> [UInt8]? {
        guard try !isNull(column) else { return nil }
        switch source {
        case .sqlite(let statement):
            guard sqlite3_column_type(statement, Int32(column)) == SQLITE_BLOB else { throw wrongType(column, "bytes") }
            return [UInt8](sqliteBytes(statement, column))
        case .postgres(let result, let row):
            guard PQftype(result, Int32(column)) == PostgresType.bytea,
                let bytes = bytesOfHex(field(result, row, column))
            else { throw wrongType(column, "bytes") }
            return bytes
        }
    }

    package func text(_ column: Int) throws(StoreError) -> String {
        guard let value = try optionalText(column) else { throw unexpectedNull(column) }
        return value
    }

    package func integer(_ column: Int) throws(StoreError) -> Int64 {
        guard let value = try optionalInteger(column) else { throw unexpectedNull(column) }
        return value
    }

    package func real(_ column: Int) throws(StoreError) -> Double {
        guard let value = try optionalReal(column) else { throw unexpectedNull(column) }
        return value
    }

    package func bool(_ column: Int) throws(StoreError) -> Bool {
        guard let value = try optionalBool(column) else { throw unexpectedNull(column) }
        return value
    }

    package func bytes(_ column: Int) throws(StoreError) -> [UInt8] {
        guard let value = try optionalBytes(column) else { throw unexpectedNull(column) }
        return value
    }

    /// Appends a text column's UTF-8 to `bytes` without making a String of it: for stored JSON that is answered as it lies.
    package func appendText(_ column: Int, to bytes: inout [UInt8]) throws(StoreError) {
        guard try withTextBytes(column, { bytes.append(contentsOf: $0) }) != nil else { throw unexpectedNull(column) }
    }

    /// - Returns: nil for a null.
    private func withTextBytes<Result>(
        _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) throws(StoreError) -> Result? {
        switch source {
        case .sqlite(let statement):
            try mustHave(column)
            // Once the value instead of three times the column: most of a row is text.
            let value = sqlite3_column_value(statement, Int32(column))
            switch sqlite3_value_type(value) {
            case SQLITE_TEXT:
                // The text first, then its length: the other order can make SQLite convert it in between.
                let start = sqlite3_value_text(value)
                return body(UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
            case SQLITE_NULL: return nil
            default: throw wrongType(column, "text")
            }
        case .postgres(let result, let row):
            guard try !isNull(column) else { return nil }
            guard PostgresType.isText(PQftype(result, Int32(column))) else { throw wrongType(column, "text") }
            return body(field(result, row, column))
        }
    }

    private func sqliteBytes(_ statement: OpaquePointer, _ column: Int) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(statement, Int32(column))
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, Int32(column))))
    }

    private func field(_ result: OpaquePointer, _ row: Int32, _ column: Int) -> UnsafeBufferPointer<UInt8> {
        let length = Int(PQgetlength(result, row, Int32(column)))
        guard let start = PQgetvalue(result, row, Int32(column)) else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        return UnsafeBufferPointer(
            start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: length)
    }

    private func wrongType(_ column: Int, _ wanted: String) -> StoreError {
        StoreError(.programming, "column \(column) is not \(wanted)")
    }

    private func unexpectedNull(_ column: Int) -> StoreError { StoreError(.programming, "column \(column) is null") }
}

/// The numbers PostgreSQL has for its own types (pg_type.dat); they never change.
enum PostgresType {
    static let boolean: Oid = 16
    static let bytea: Oid = 17
    private static let integers: [Oid] = [20, 21, 23]
    private static let numeric: Oid = 1700
    private static let reals: [Oid] = [700, 701]

    /// SUM of integers is `numeric` on PostgreSQL, so that counts too as long as the value is whole.
    static func isInteger(_ type: Oid) -> Bool { integers.contains(type) || type == numeric }
    static func isNumber(_ type: Oid) -> Bool { isInteger(type) || reals.contains(type) }
    static func isText(_ type: Oid) -> Bool { !isNumber(type) && type != boolean && type != bytea }
}

extension Int64 {
    /// Reads decimal digits with an optional minus; nil when anything else is there or the number does not fit.
    init?(bytes: UnsafeBufferPointer<UInt8>) {
        var digits = bytes[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = product.subtractingReportingOverflow(digit)
            if overflow || overflow2 { return nil }
            value = sum
        }
        // Counted downwards, because the smallest number has no positive twin.
        if isNegative {
            self = value
        } else if value == .min {
            return nil
        } else {
            self = -value
        }
    }
}

/// The bytes of PostgreSQL's `\x0aff`.
private func bytesOfHex(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard text.count >= 2, text.count.isMultiple(of: 2), text[0] == UInt8(ascii: "\\"), text[1] == UInt8(ascii: "x")
    else {
        return nil
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2 - 1)
    for index in stride(from: 2, to: text.count, by: 2) {
        guard let high = nibble(text[index]), let low = nibble(text[index + 1]) else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}

private func nibble(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
}
