import CLinux
import Glibc

extension StoreError {
    /// A call of the operating system failed.
    static func file(_ what: String, _ path: String, _ number: Int32) -> StoreError {
        let code: Code =
            switch number {
            case ENOSPC, EDQUOT: .full
            case ENOENT: .notFound
            default: .unavailable
            }
        return StoreError(
            code, "cannot \(what) \(path): \(String(cString: strerror(number)))", engineCode: "errno \(number)")
    }
}

/// Makes what happened to the names in a folder last: after this a new, renamed or removed file stays so.
func syncFolder(_ path: String) throws(StoreError) {
    let descriptor = clinux_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw .file("open", path, errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .file("sync", path, errno) }
}

/// Makes the folder, readable by its owner only, unless it is there; the folder above must exist.
func makeFolder(_ path: String) throws(StoreError) {
    if mkdir(path, 0o700) == 0 {
        try syncFolder(folder(of: path))
    } else if errno != EEXIST {
        throw .file("make", path, errno)
    }
}

/// The folder a path lies in.
func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
