import CLinux
import Glibc
import Synchronization

/// One client's connection: its socket, its time, and whatever protocol is spoken on it.
///
/// An actor on its event loop. The loop calls `ready` and `timerFired`; the tasks that run handlers are isolated to it as
/// well, so nothing here is ever touched from two threads. What HTTP/1.1 does is in `Connection+HTTP1…`, what HTTP/2 does
/// in `Connection+HTTP2` and `HTTP2Session`.
actor Connection {
    enum Phase {
        case handshake
        /// HTTP/1.1: waits for a request, or for the rest of its head.
        case head
        /// HTTP/1.1: a task serves requests.
        case serving
        case http2
        /// The last answer is out; what still comes is thrown away, so that the client sees the answer and not a reset
        /// (RFC 9112 section 9.6).
        case closing
        case closed
    }

    /// How waiting ended.
    enum Wake {
        case ready
        case late
        case closed
    }

    nonisolated let loop: EventLoop
    nonisolated let server: ServerState
    nonisolated let peer: SocketAddress
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let transport: Transport
    private let network: String
    let isRefused: Bool
    private var token: UInt64?

    var phase = Phase.handshake
    var deadlines = Deadlines()
    /// Whether an attempt to read or write may succeed; the loop tells only of changes.
    var canRead = true
    var canWrite = true
    /// The client has finished sending. It may still read.
    var isHalfClosed = false
    /// The server is being stopped: nothing new is begun.
    var isStopping = false

    /// Who waits for the socket.
    var readWaiter: CheckedContinuation<Wake, Never>?
    var writeWaiter: CheckedContinuation<Wake, Never>?
    /// What was written without waiting and did not fit.
    var pending: [UInt8] = []
    private var hasFinishedWriting = false
    private var discardedBytes = 0

    // HTTP/1.1
    var reader: HTTP1Reader
    /// Whether it is still open which protocol the client speaks.
    var isSniffing = true
    var hasHeadStarted = false
    var task: Task<Void, Never>?
    var exchange = HTTP1Exchange()

    // HTTP/2
    var http2: HTTP2Session?
    /// What handlers know this connection by; made with the first request.
    var handle: HTTPConnection?
    /// The loop will send what the session has to say.
    var isPumpScheduled = false
    /// There are no streams, and the idle time runs.
    var isIdle = true
    /// Handler tasks, those of streams that were reset included.
    var streamTasks = 0

    init(
        socket: CInt, peer: SocketAddress, network: String, isRefused: Bool, tls: TLSContext?, loop: EventLoop,
        server: ServerState
    ) {
        self.peer = peer
        self.network = network
        self.isRefused = isRefused
        self.loop = loop
        self.server = server
        transport = Transport(
            descriptor: socket, tls: tls.flatMap { TLSSession(context: $0, descriptor: socket) }, wantsTLS: tls != nil)
        reader = HTTP1Reader(limits: server.readerLimits)
    }

    // MARK: Life

    func start() {
        token = loop.add(self, descriptor: transport.descriptor)
        guard token != nil, transport.isUsable, !server.isStopping else { return close() }
        if transport.tls != nil {
            deadlines.phase = loop.now + server.times.handshake
            arm()
            continueHandshake()
        } else if isRefused {
            refuseForLoad()
        } else {
            readHead()
        }
    }

    private func continueHandshake() {
        guard let tls = transport.tls else { return }
        switch tls.handshake() {
        case .again: return
        case .failed: close()
        case .done(let isHTTP2):
            deadlines.phase = .max
            guard isHTTP2 || !server.speaksHTTP2Only else { return close() }
            if isHTTP2 {
                startHTTP2(with: [])
            } else if isRefused {
                refuseForLoad()
            } else {
                readHead()
            }
        }
    }

    private func refuseForLoad() {
        pending = HTTP1Writer.busyAnswer
        startClosing()
    }

    /// From the loop: something happened on the socket.
    func ready(_ events: UInt32) {
        if events & Self.inbound != 0 { canRead = true }
        if events & Self.outbound != 0 { canWrite = true }
        if events & EPOLLRDHUP.rawValue != 0, !isHalfClosed {
            isHalfClosed = true
            noteHalfClosed()
        }
        switch phase {
        case .handshake: continueHandshake()
        case .head: readHead()
        case .serving:
            // Both directions are gone: nobody will read the answer.
            if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { return close() }
            if canWrite {
                flush()
                if pending.isEmpty { wakeWriter(.ready) }
            }
            if canRead { wakeReader(.ready) }
        case .http2: http2Ready()
        case .closing: continueClosing()
        case .closed: break
        }
    }

    private static let inbound = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    private static let outbound = EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue

    private func noteHalfClosed() {
        guard phase == .serving else { return }
        deadlines.cancel = loop.now + server.times.halfClosed
        arm()
    }

    /// The server is about to stop.
    func beginStopping() {
        isStopping = true
        switch phase {
        case .handshake: close()
        case .head: if reader.bufferedBytes == 0 { close() }
        case .serving: if exchange.isEndless { task?.cancel() }
        case .http2: stopHTTP2()
        case .closing:
            deadlines.phase = min(deadlines.phase, loop.now + lingerTime)
            arm()
        case .closed: break
        }
    }

    /// A server that stops waits less for clients to go.
    private var lingerTime: UInt64 { isStopping ? server.times.linger / 8 : server.times.linger }

    /// Sends what is pending, says that nothing more comes, and waits a little for the client to see it.
    func startClosing() {
        guard phase != .closed, phase != .closing else { return }
        phase = .closing
        http2?.connectionClosed()
        deadlines = Deadlines()
        deadlines.phase = loop.now + lingerTime
        arm()
        continueClosing()
    }

    private func continueClosing() {
        flush()
        guard phase == .closing, pending.isEmpty else { return }
        if !hasFinishedWriting {
            hasFinishedWriting = true
            transport.finishWriting()
        }
        while canRead {
            switch transport.read(into: loop.readBuffer) {
            case .count(let count):
                discardedBytes += count
                if discardedBytes > Self.mostDiscarded { return close() }
            case .again: canRead = false
            case .end, .failed: return close()
            }
        }
    }

    private static let mostDiscarded = 16 * 1024 * 1024

    /// The end: nobody waits any more, and the handler's task is told.
    func close() {
        guard phase != .closed else { return }
        phase = .closed
        if let token { loop.removeConnection(token) }
        token = nil
        transport.close()
        server.addresses.leave(network, wasRefused: isRefused)
        loop.clients.wrappingSubtract(1, ordering: .relaxed)
        pending = []
        deadlines = Deadlines()
        task?.cancel()
        wakeReader(.closed)
        wakeWriter(.closed)
        exchange.close()
        http2?.connectionClosed()
        http2 = nil
        if let handle {
            // The two hold each other while the connection is open.
            self.handle = nil
            server.connectionClosed(handle)
        }
    }

    // MARK: Reading

    /// Takes what the socket has into the reader.
    func fill() -> IOResult {
        let most = min(loop.readBuffer.count, max(server.limits.pipelinedBytes, 1024))
        let room = UnsafeMutableRawBufferPointer(rebasing: loop.readBuffer[..<most])
        let result = transport.read(into: room)
        switch result {
        case .count(let count):
            reader.receive(UnsafeRawBufferPointer(rebasing: room[..<count]))
            // A short read has emptied the socket (epoll(7)), except that its end is told only once. Under TLS more may
            // lie in OpenSSL.
            if count < most, transport.tls == nil, !isHalfClosed { canRead = false }
        case .again: canRead = false
        case .end, .failed: break
        }
        return result
    }

    func wakeReader(_ wake: Wake) {
        guard let waiter = readWaiter else { return }
        readWaiter = nil
        waiter.resume(returning: wake)
    }

    // MARK: Time

    /// From the loop: the time that was set last has come, or an older one, which does not count.
    func timerFired(_ time: UInt64) {
        guard time == deadlines.armed, phase != .closed else { return }
        deadlines.armed = .max
        let now = loop.now
        if deadlines.phase <= now {
            deadlines.phase = .max
            phaseIsOver()
        }
        if deadlines.read <= now {
            deadlines.read = .max
            wakeReader(.late)
        }
        if deadlines.write <= now {
            // A client that does not read is cut off. There is no use in telling it.
            guard hasTakenEnough() else { return close() }
            expectRoom()
        }
        if deadlines.cancel <= now {
            deadlines.cancel = .max
            task?.cancel()
        }
        if deadlines.heartbeat <= now { beat() }
        arm()
    }

    private func phaseIsOver() {
        switch phase {
        case .handshake, .closing, .serving: close()
        case .head:
            if reader.bufferedBytes > 0 {
                refuse(HTTP1Refusal(.requestTimeout, "The request did not arrive in time."))
            } else {
                startClosing()
            }
        case .http2: http2Tick()
        case .closed: break
        }
    }

    /// Makes sure that the loop calls `timerFired` at the earliest deadline. Deadlines mostly move away from now, and then
    /// this is a comparison.
    func arm() {
        let earliest = deadlines.earliest
        guard earliest < deadlines.armed, let token else { return }
        deadlines.armed = earliest
        loop.setTimer(token, at: earliest)
    }
}

/// The times something must have happened by, in milliseconds of the loop's clock.
struct Deadlines {
    /// What ends the phase: the handshake, the rest of the head, idling, lingering.
    var phase: UInt64 = .max
    /// The next piece of the body.
    var read: UInt64 = .max
    /// Room in the socket, or at least a client that reads.
    var write: UInt64 = .max
    /// What the kernel held for the client when `write` was set.
    var unconfirmed = 0
    /// Until the task of a half-closed client is cancelled.
    var cancel: UInt64 = .max
    /// Until an endless answer needs a sign of life.
    var heartbeat: UInt64 = .max
    /// What the loop was told.
    var armed: UInt64 = .max

    var earliest: UInt64 { min(min(phase, read), min(write, cancel), heartbeat) }
}
