import Glibc

/// How many file descriptors the process may have, and so how many connections.
enum DescriptorLimit {
    /// Raises the process's soft limit as far as `connections` need it and the hard limit lets it.
    /// - Returns: how many connections may be open at once. Half of the descriptors, less some for everything else: an
    ///   answer may need one for its file. Running out must not happen at all, because Swift's own runtime ends the
    ///   process when it finds none.
    static func raise(for connections: Int) -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return connections }
        let wanted = rlim_t(clamping: connections * 2 + spare)
        if limit.rlim_cur < wanted {
            limit.rlim_cur = min(wanted, limit.rlim_max)
            setrlimit(resource, &limit)
            getrlimit(resource, &limit)
        }
        return min(connections, max(8, (Int(clamping: limit.rlim_cur) - spare) / 2))
    }

    /// For listeners, loops, the database, child processes and what libraries open.
    private static let spare = 128
}
