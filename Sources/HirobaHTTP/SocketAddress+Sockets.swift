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
        let found: [ResolvedAddress]
        do {
            found = try ResolvedAddress.find(host: host, port: port, toListen: true)
        } catch {
            throw HTTPServerError("the address \(host) is not known: \(error.description)")
        }
        var sockets: [CInt] = []
        var bound: SocketAddress?
        var failure = EADDRNOTAVAIL
        for var address in found {
            if let bound { address.setPort(bound.port) }
            let socket = clinux_listen(&address.storage, address.length, 1024)
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

    private static func local(_ socket: CInt) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return parse(storage).address
    }
}

/// Where a host may be, in the form the system takes.
struct ResolvedAddress: Sendable {
    struct Failure: Error {
        let description: String
    }

    var storage: sockaddr_storage
    let length: socklen_t

    /// Asks the system's resolver, and waits for it.
    static func find(
        host: String, port: Int, toListen: Bool = false
    ) throws(Failure) -> [ResolvedAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (toListen ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let list else { throw Failure(description: String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(list) }
        return sequence(first: list, next: { $0.pointee.ai_next }).compactMap { ResolvedAddress($0.pointee) }
    }

    private init?(_ item: addrinfo) {
        guard let address = item.ai_addr, item.ai_addrlen <= MemoryLayout<sockaddr_storage>.size else { return nil }
        storage = sockaddr_storage()
        length = item.ai_addrlen
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(item.ai_addrlen)))
        }
    }

    mutating func setPort(_ port: Int) {
        // The port lies at the same place in both families.
        withUnsafeMutableBytes(of: &storage) {
            $0.storeBytes(
                of: UInt16(port).bigEndian, toByteOffset: MemoryLayout<sockaddr_in>.offset(of: \.sin_port) ?? 2,
                as: UInt16.self)
        }
    }
}
