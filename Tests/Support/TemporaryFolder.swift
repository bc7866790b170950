import Glibc

/// Runs `body` with the path of a new empty folder and removes the folder afterwards, also when `body` throws.
package func withTemporaryFolder<Result>(
    in parent: String = "/tmp", _ body: (String) async throws -> Result
) async throws -> Result {
    let path = try makeTemporaryFolder(in: parent)
    do {
        let result = try await body(path)
        removeTree(path)
        return result
    } catch {
        removeTree(path)
        throw error
    }
}

/// A new empty folder that only this user can enter.
package func makeTemporaryFolder(in parent: String = "/tmp") throws -> String {
    var template = Array("\(parent)/hiroba-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("cannot make a folder in \(parent): error \(errno)") }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}

package func removeTree(_ path: String) {
    // Only a folder can be opened as one, and a link to a folder is not followed because unlink takes it first.
    if unlink(path) == 0 { return }
    if let folder = opendir(path) {
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { removeTree(path + "/" + name) }
        }
        closedir(folder)
    }
    rmdir(path)
}

package struct TestSupportError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
