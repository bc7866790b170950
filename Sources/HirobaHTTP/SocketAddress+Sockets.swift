import CLinux
import Glibc

extension SocketAddress {
    /// The address as text, and its bytes.
    static func parse(_ storage: sockaddr_storage) -> (address: SocketAddress, bytes: [UInt8]) {
        withUnsafeBytes(of: storage) { raw in
            if CInt(storage.ss_family) == AF_INET6 {
                let address = raw.loadUnaligned(as: sockaddr_in6.self)
                let bytes = withUnsafeBytes(of: address.sin6_addr) { Array($0) }
                let port = Int(UInt16(bigEndian: address.sin6_port))
                // ::ffff:203.0.113.7 is an IPv4 client on an IPv6 socket.
                if bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
                    let last = Array(bytes.suffix(4))
                    return (SocketAddress(ip: text(last, AF_INET), port: port), last)
                }
                return (SocketAddress(ip: text(bytes, AF_INET6), port: port), bytes)
            }
            let address = raw.loadUnaligned(as: sockaddr_in.self)
            let bytes = withUnsafeBytes(of: address.sin_addr) { Array($0) }
            return (SocketAddress(ip: text(bytes, AF_INET), port: Int(UInt16(bigEndian: address.sin_port))), bytes)
        }
    }

    private static func text(_ bytes: [UInt8], _ family: CInt) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(family, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Binds and listens at every address `host` has.
    /// - Returns: the listening sockets, and the address of the first.
    static func listen(host: String, port: Int) throws -> (sockets: [CInt], address: SocketAddress) {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let first = list else {
            throw HTTPServerError("the address \(host) is not known: \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(first) }
        var sockets: [CInt] = []
        var bound: SocketAddress?
        var failure = EADDRNOTAVAIL
        for item in sequence(first: first, next: { $0.pointee.ai_next }) {
            if let bound, let address = item.pointee.ai_addr { setPort(bound.port, in: address) }
            let socket = clinux_listen(item, 1024)
            guard socket >= 0 else {
                failure = -socket
                continue
            }
            sockets.append(socket)
            if bound == nil { bound = local(socket) }
        }
        guard let bound else {
            throw HTTPServerError("cannot listen on \(host) port \(port): \(String(cString: strerror(failure)))")
        }
        return (sockets, bound)
    }

    private static func setPort(_ port: Int, in address: UnsafeMutablePointer<sockaddr>) {
        // The port lies at the same place in both families.
        address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            $0.pointee.sin_port = UInt16(port).bigEndian
        }
    }

    private static func local(_ socket: CInt) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return parse(storage).address
    }
}
