import HirobaThreads

/// Counts connections, in all and by address, against the limits.
final class AddressBook: Sendable {
    enum Admission {
        case welcome
        /// Over a limit, and let in only to be told so.
        case refused
        /// Over a limit, with too many being told so already.
        case ignored
    }

    private struct State {
        var all = 0
        var refused = 0
        var byNetwork: [String: Int] = [:]
    }

    private let limits: HTTPLimits
    private let state = Lock(State())
    private static let mostRefused = 64

    init(limits: HTTPLimits) { self.limits = limits }

    var count: Int { state.withLock { $0.all } }

    func admit(_ network: String) -> Admission {
        state.withLock { state in
            guard state.all < limits.connections, state.byNetwork[network, default: 0] < limits.connectionsPerAddress
            else {
                guard state.refused < Self.mostRefused else { return .ignored }
                state.refused += 1
                return .refused
            }
            state.all += 1
            state.byNetwork[network, default: 0] += 1
            return .welcome
        }
    }

    func leave(_ network: String, wasRefused: Bool) {
        state.withLock { state in
            if wasRefused {
                state.refused -= 1
                return
            }
            state.all -= 1
            let left = state.byNetwork[network, default: 1] - 1
            state.byNetwork[network] = left > 0 ? left : nil
        }
    }

    /// What counts as one client: an IPv4 address, or the /64 an IPv6 address lies in, which one customer has to himself.
    static func network(of address: SocketAddress, bytes: [UInt8]) -> String {
        address.isIPv6 ? bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":") + "/64" : address.ip
    }
}
