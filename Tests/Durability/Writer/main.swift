import Glibc
import HirobaStore

// The program under test of Tests/Durability: it writes as the server does and says on its standard output what was
// begun and what was answered, or looks into folders and says what is there.
//
//     store-writer write FOLDER COUNT CONCURRENCY [--skip-sync]
//     store-writer check            reads folders from standard input, one a line

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "write" where arguments.count >= 4:
    try await write(
        arguments[1], count: Int(arguments[2]) ?? 0, concurrency: Int(arguments[3]) ?? 1,
        skipsSync: arguments.contains("--skip-sync"))
case "check":
    while let folder = readLine() { await check(folder) }
default:
    say("usage: store-writer write FOLDER COUNT CONCURRENCY [--skip-sync] | store-writer check")
    exit(64)
}

/// One line in one write, so that lines of different tasks do not mix.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    guard Glibc.write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { exit(1) }
}

func open(_ folder: String, skipsSync: Bool = false) async throws -> (Database, FolderBlobStore) {
    let schema = Migration(
        "schema",
        [
            "CREATE TABLE rows (id \(.integer) PRIMARY KEY, text TEXT NOT NULL, blob \(.key)) \(.strict)",
            "CREATE TABLE counter (value \(.integer) NOT NULL) \(.strict)",
            "INSERT INTO counter VALUES (0)",
        ])
    var options = Database.Options()
    options.unsafelySkipsSync = skipsSync
    options.writeDeadline = .seconds(60)
    let database = try await Database.open(.sqlite(path: folder + "/hiroba.db"), migrations: [schema], options: options)
    return (database, try await FolderBlobStore.open(folder + "/blobs"))
}

/// What row `id` holds: up to some pages, different for each.
func text(_ id: Int) -> String { String(repeating: "\(id * 7919) ", count: id * id % 400 + 1) }

/// What its blob holds: no two sectors of it are the same.
func content(_ id: Int) -> [UInt8] {
    let count = id * 1009 % 60_000
    let pattern = (0..<251).map { UInt8(truncatingIfNeeded: $0 &* (id | 1)) }
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += pattern }
    return Array(bytes.prefix(count))
}

func write(_ folder: String, count: Int, concurrency: Int, skipsSync: Bool) async throws {
    let (database, blobs) = try await open(folder, skipsSync: skipsSync)
    // Ten times as often as by default, so that many power cuts fall into the copying from the log to the database.
    try await database.write { db in try db.run("PRAGMA wal_autocheckpoint = 100") }
    await withTaskGroup { group in
        for lane in 0..<concurrency {
            group.addTask {
                for id in stride(from: lane, to: count, by: concurrency) { await work(id, database, blobs) }
            }
        }
    }
    await database.close()
    say("closed")
}

/// A row; for some a blob, for some the removal of both, for some a count.
func work(_ id: Int, _ database: Database, _ blobs: FolderBlobStore) async {
    do {
        var blob: BlobID?
        if id % 5 == 0 {
            let stored = try await blobs.put(content(id))
            blob = stored.id
            say("blob \(stored.id) \(id)")
        }
        let name = blob?.description
        try await database.write { db in
            try db.run("INSERT INTO rows (id, text, blob) VALUES (\(id), \(text(id)), \(name))")
        }
        say("row \(id)")
        if id % 7 == 0 {
            let value = try await database.write { db in
                try db.first("UPDATE counter SET value = value + 1 RETURNING value") { row in try row.integer(0) }
            }
            say("counter \(value ?? 0)")
        }
        if id % 10 == 0 {
            say("removing \(id)")
            try await database.write { db in try db.run("DELETE FROM rows WHERE id = \(id)") }
            say("removed \(id)")
            if let blob {
                say("deleting \(blob)")
                try await blobs.delete(blob)
            }
        }
    } catch let error as StoreError {
        say("failed \(error.code.rawValue)")
    } catch {
        say("failed \(error)")
    }
}

/// One line: `ok`, the counter, the rows' ids, the blobs' names, and what is wrong with them.
func check(_ folder: String) async {
    do {
        let (database, blobs) = try await open(folder)
        let (rows, counter, integrity) = try await database.read { db in
            (
                try db.rows("SELECT id, text, blob FROM rows") { row in
                    (Int(try row.integer(0)), try row.text(1), try row.optionalText(2))
                },
                try db.first("SELECT value FROM counter") { row in try row.integer(0) } ?? -1,
                try db.first("PRAGMA integrity_check") { row in try row.text(0) } ?? "no answer"
            )
        }
        var faults = integrity == "ok" ? [] : [integrity]
        let names = Set(try await blobs.list().map(\.description))
        for (id, found, blob) in rows {
            if found != text(id) { faults.append("row \(id) has another text") }
            guard let blob else { continue }
            guard let blobID = BlobID(blob), names.contains(blob) else {
                faults.append("row \(id) has no bytes")
                continue
            }
            if try await blobs.get(blobID) != content(id) { faults.append("row \(id) has other bytes") }
        }
        await database.close()
        let ids = rows.map { "\($0.0)" }.joined(separator: ",")
        say("ok\t\(counter)\t\(ids)\t\(names.joined(separator: ","))\t\(faults.joined(separator: "; "))")
    } catch {
        say("error\t\(error)")
    }
}
