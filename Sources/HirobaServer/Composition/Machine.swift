import Glibc

/// How many threads can run at once.
func processors() -> Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

/// Every connection and every open file takes a descriptor, and systems allow few until asked for more. Asks for all that
/// the system grants without further rights.
/// - Returns: how many may be open at once now.
@discardableResult
func allowManyFiles() -> Int {
    var files = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    if files.rlim_cur < files.rlim_max {
        var wanted = files
        wanted.rlim_cur = files.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted) == 0 { files = wanted }
    }
    return Int(clamping: files.rlim_cur)
}

/// The name of every address of this machine: `::`, which takes IPv4 too, unless the machine has no IPv6.
func everyAddress() -> String {
    let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return "0.0.0.0" }
    defer { close(descriptor) }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
        }
    }
    return status == 0 ? "::" : "0.0.0.0"
}
