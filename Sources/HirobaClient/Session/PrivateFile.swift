import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Files that only their owner reads, and that are there as a whole or not at all.
enum PrivateFile {
    /// Writes with mode 600. The mode is set while the file is still empty, so that its content is never readable by
    /// others.
    static func write(_ bytes: [UInt8], to file: URL) throws(ClientError) {
        let part = file.appendingPathExtension("part-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            guard
                FileManager.default.createFile(
                    atPath: part.path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw ClientError.local("The file \(file.lastPathComponent) cannot be written") }
            let handle = try FileHandle(forWritingTo: part)
            defer { try? handle.close() }
            try handle.write(contentsOf: Data(bytes))
            try handle.synchronize()
            try replace(file, by: part)
        } catch {
            try? FileManager.default.removeItem(at: part)
            throw error as? ClientError ?? .local(error.localizedDescription)
        }
    }

    /// Puts a file in the place of another in one step.
    static func replace(_ file: URL, by part: URL) throws(ClientError) {
        // Foundation's own replacement needs the old file to exist. Unsafe only because a C function takes the paths;
        // both live through the call.
        guard unsafe rename(part.path, file.path) == 0 else {
            throw .local("The file \(file.lastPathComponent) cannot be put in place")
        }
    }
}
