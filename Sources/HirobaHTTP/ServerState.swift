import HirobaThreads
import Synchronization

/// What every connection of a server needs to know.
final class ServerState: Sendable {
    let handler: HTTPHandler
    let limits: HTTPLimits
    let readerLimits: HTTP1Reader.Limits
    let times: Times
    let serverField: [UInt8]
    let serverName: String?
    let observe: @Sendable (HTTPServerConfiguration.Event) -> Void
    let connectionClosed: @Sendable (HTTPConnection) -> Void
    let speaksHTTP2Only: Bool
    let firstStreamLimit: Int?
    let addresses: AddressBook
    private let tls: Lock<TLSContext?>
    private let stopping = Atomic(false)
    private let filePool = Lock<WorkerPool?>(nil)

    /// The limits that are times, in milliseconds of the loop's clock.
    struct Times: Sendable {
        var head: UInt64
        var idle: UInt64
        var bodyGrace: UInt64
        var writeStall: UInt64
        var handshake: UInt64
        var halfClosed: UInt64
        var linger: UInt64
    }

    init(_ configuration: HTTPServerConfiguration, handler: @escaping HTTPHandler) throws {
        self.handler = handler
        var limits = configuration.limits
        limits.connections = DescriptorLimit.raise(for: limits.connections)
        self.limits = limits
        readerLimits = HTTP1Reader.Limits(
            headBytes: limits.headBytes, headFields: limits.headFields, targetBytes: limits.targetBytes)
        times = Times(
            head: limits.headTime.milliseconds, idle: limits.idleTime.milliseconds,
            bodyGrace: limits.bodyGraceTime.milliseconds, writeStall: limits.writeStallTime.milliseconds,
            handshake: limits.handshakeTime.milliseconds, halfClosed: limits.halfClosedTime.milliseconds,
            linger: limits.lingerTime.milliseconds)
        let named: HTTPHeaders = configuration.serverName.map { ["Server": $0] } ?? [:]
        serverName = named["Server"]
        serverField = Array(named.map { "\($0.name): \($0.value)\r\n" }.joined().utf8)
        observe = configuration.observe
        connectionClosed = configuration.connectionClosed
        speaksHTTP2Only = configuration.speaksHTTP2Only
        firstStreamLimit = configuration.firstStreamLimit
        addresses = AddressBook(limits: limits)
        tls = Lock(try configuration.tls.map { try TLSContext($0, speaksHTTP2Only: configuration.speaksHTTP2Only) })
    }

    /// Connections handed over between loops may still arrive when the listener is closed.
    var isStopping: Bool {
        get { stopping.load(ordering: .acquiring) }
        set { stopping.store(newValue, ordering: .releasing) }
    }

    var tlsContext: TLSContext? { tls.withLock { $0 } }

    func replaceTLSContext(_ context: TLSContext) { tls.withLock { $0 = context } }

    /// Threads that wait for the disk; started when the first cold file is asked for.
    var files: WorkerPool {
        filePool.withLock { pool in
            if let pool { return pool }
            let made = WorkerPool(name: "http-files", threads: 2, queue: 1000)
            pool = made
            return made
        }
    }
}

extension Duration {
    /// Whole milliseconds; what is negative counts as none.
    var milliseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(0, seconds)) * 1000 + UInt64(max(0, attoseconds / 1_000_000_000_000_000))
    }
}
