/// One step of the schema: named, applied in order and in a transaction of its own, recorded, never edited once released.
///
/// A step that only adds (`keepsOlderPrograms`) leaves the previous release able to run on the database; any other step
/// locks out the programs that do not know it.
package struct Migration: Sendable {
    package let name: String
    package let keepsOlderPrograms: Bool
    let statements: @Sendable (Dialect) -> [SQL]

    package init(
        _ name: String, keepsOlderPrograms: Bool = false, _ statements: @escaping @Sendable (Dialect) -> [SQL]
    ) {
        self.name = name
        self.keepsOlderPrograms = keepsOlderPrograms
        self.statements = statements
    }

    package init(_ name: String, keepsOlderPrograms: Bool = false, _ statements: [SQL]) {
        self.init(name, keepsOlderPrograms: keepsOlderPrograms) { _ in statements }
    }
}
