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
