import Glibc

/// An IPv4 or IPv6 address as bytes. An IPv4 address inside IPv6 (`::ffff:…`) counts as IPv4.
package struct NetworkAddress: Sendable, Equatable {
    package let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    package init?(_ text: String) {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: &four) { Array($0) }
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let all = withUnsafeBytes(of: &six) { Array($0) }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        bytes = all.starts(with: mapped) ? Array(all[12...]) : all
    }
}

/// A network such as `10.0.0.0/8`, or a single address.
package struct AddressRange: Sendable, Equatable, CustomStringConvertible {
    private let network: NetworkAddress
    private let bits: Int
    package let description: String

    package init(parsing text: String) throws(ConfigurationError) {
        let refused = ConfigurationError("is “\(text)”, but a network looks like 10.0.0.0/8, 192.0.2.7 or fd00::/8")
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ NetworkAddress(String($0)) }) else { throw refused }
        var bits = address.bytes.count * 8
        if parts.count == 2 {
            guard let given = Int(parts[1]), (0...bits).contains(given) else { throw refused }
            bits = given
        }
        network = address
        self.bits = bits
        description = text
    }

    private init(_ description: String, _ network: NetworkAddress, _ bits: Int) {
        (self.description, self.network, self.bits) = (description, network, bits)
    }

    package static let thisMachine = AddressRange("127.0.0.0/8", NetworkAddress(bytes: [127, 0, 0, 0]), 8)
    package static let thisMachineIPv6 = AddressRange(
        "::1", NetworkAddress(bytes: [UInt8](repeating: 0, count: 15) + [1]), 128)

    package func contains(_ address: NetworkAddress) -> Bool {
        guard address.bytes.count == network.bytes.count else { return false }
        var left = bits
        for (mine, theirs) in zip(network.bytes, address.bytes) {
            guard left > 0 else { return true }
            let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
            guard mine & mask == theirs & mask else { return false }
            left -= 8
        }
        return true
    }
}

/// Who really asks, when named proxies stand in front.
package struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]

    package init(_ ranges: [AddressRange]) { self.ranges = ranges }

    package var isEmpty: Bool { ranges.isEmpty }

    package func contains(_ address: String) -> Bool {
        guard let address = NetworkAddress(address) else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The client's address and whether it came over TLS, as the proxy tells it; nil when `peer` is no named proxy.
    ///
    /// Each proxy appends the address it saw, so the list is read from its end, past the proxies that are trusted: what
    /// stands before the first untrusted address was written by the client itself and proves nothing.
    package func origin(peer: String, forwardedFor: [String], forwardedProtocol: String?) -> (
        address: String, isSecure: Bool?
    )? {
        guard contains(peer) else { return nil }
        var address = peer
        let hops = forwardedFor.flatMap { $0.split(separator: ",") }.map { String(trimmingBlanks(of: $0)) }
        for hop in hops.reversed() {
            guard NetworkAddress(hop) != nil else { break }
            address = hop
            if !contains(hop) { break }
        }
        let lastProtocol = forwardedProtocol?.split(separator: ",").last.map { trimmingBlanks(of: $0) }
        return (address, lastProtocol.map { $0 == "https" })
    }
}

/// The text without the blanks and tabs at its ends.
func trimmingBlanks(of text: some StringProtocol) -> Substring {
    var text = Substring(text)
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
}
