/// An Internet address as people write it, and a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// `203.0.113.7` or `2001:db8::1`. An IPv4 address that arrived on an IPv6 socket is written as IPv4.
    package var ip: String
    package var port: Int

    package init(ip: String, port: Int) {
        self.ip = ip
        self.port = port
    }

    package var isIPv6: Bool { ip.utf8.contains(UInt8(ascii: ":")) }

    package var description: String { isIPv6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}
