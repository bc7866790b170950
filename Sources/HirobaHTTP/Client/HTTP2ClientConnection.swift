import CLinux
import Glibc
import HirobaThreads

/// One connection of an HTTP/2 client: finds the server, connects, agrees on TLS, moves bytes. It decides nothing: what
/// happens is told to its client.
final class HTTP2ClientConnection: LoopMember, @unchecked Sendable {
    // Unchecked because the compiler cannot see that everything but `init` and `start` runs on the loop's thread only.

    private enum Phase {
        case resolving
        case connecting
        case handshake
        case open
        case closed
    }

    private let loop: EventLoop
    private let server: HTTP2Client.Server
    private let session: HTTP2ClientSession?
    private let number: Int
    /// The client owns its connections, and lives as long as one of them is open.
    private let client: HTTP2Client

    private var phase = Phase.resolving
    /// Those not tried yet, the last first.
    private var addresses: [ResolvedAddress] = []
    private var transport: Transport?
    private var token: UInt64?
    private var lastError = "the server has no address"
    private var canRead = true
    /// What did not fit into the socket.
    private var pending: [UInt8] = []
    private var isPumpScheduled = false
    private var events: [HTTP2ClientSession.Event] = []

    init(number: Int, server: HTTP2Client.Server, loop: EventLoop, client: HTTP2Client) {
        self.number = number
        self.loop = loop
        self.server = server
        self.client = client
        session = HTTP2ClientSession(origin: server.origin)
    }

    // MARK: Connecting

    /// The name is looked up anew for each connection, on a thread that may wait.
    func start() {
        let (host, port) = (server.host, server.port)
        startThread(name: "resolve") { [self] in
            let found = Result { () throws(ResolvedAddress.Failure) in
                try ResolvedAddress.find(host: host, port: port)
            }
            loop.execute { self.resolved(found) }
        }
    }

    private func resolved(_ found: Result<[ResolvedAddress], ResolvedAddress.Failure>) {
        guard phase == .resolving else { return }
        switch found {
        case .success(let addresses):
            self.addresses = addresses.reversed()
            connectToNext()
        case .failure(let failure):
            fail("the name \(server.host) is not known: \(failure.description)")
        }
    }

    private func connectToNext() {
        while var address = addresses.popLast() {
            let descriptor = clinux_connect(&address.storage, address.length)
            guard descriptor >= 0 else {
                lastError = String(cString: strerror(-descriptor))
                continue
            }
            let tls = server.tls.flatMap { TLSSession(context: $0, descriptor: descriptor, expecting: server.host) }
            let transport = Transport(descriptor: descriptor, tls: tls, wantsTLS: server.tls != nil)
            guard transport.isUsable, let token = loop.add(self, descriptor: descriptor) else {
                transport.close()
                lastError = "no room for another connection"
                continue
            }
            self.transport = transport
            self.token = token
            phase = .connecting
            return
        }
        fail("\(server.authority) cannot be reached: \(lastError)")
    }

    private func closeSocket() {
        if let token { loop.removeConnection(token) }
        token = nil
        transport?.close()
        transport = nil
    }

    func ready(_ events: UInt32) {
        if events & Self.inbound != 0 { canRead = true }
        switch phase {
        case .connecting: continueConnecting(events)
        case .handshake: continueHandshake()
        case .open: exchange()
        case .resolving, .closed: break
        }
    }

    private static let inbound = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue

    private func continueConnecting(_ events: UInt32) {
        guard let transport else { return }
        let error = clinux_socket_error(transport.descriptor)
        if error != 0 {
            lastError = String(cString: strerror(error))
            closeSocket()
            return connectToNext()
        }
        guard events & EPOLLOUT.rawValue != 0 else { return }
        addresses = []
        if transport.tls == nil {
            becomeOpen()
        } else {
            phase = .handshake
            continueHandshake()
        }
    }

    private func continueHandshake() {
        guard let tls = transport?.tls else { return }
        switch tls.handshake() {
        case .again: return
        case .failed: fail("no TLS with \(server.authority): \(tls.failure)")
        case .done(let isHTTP2):
            guard isHTTP2 else { return fail("\(server.authority) does not speak HTTP/2") }
            becomeOpen()
        }
    }

    private func becomeOpen() {
        phase = .open
        client.connected(number)
        client.eventsEnd()
        exchange()
    }

    // MARK: Bytes

    /// Reads what there is, and sends what there is to say.
    private func exchange() {
        guard let session else { return fail("no memory for a connection") }
        var turns = 0
        while canRead, phase == .open, turns < 8, let transport {
            turns += 1
            switch transport.read(into: loop.readBuffer) {
            case .count(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count])
                guard session.receive(bytes) else {
                    return fail("\(server.authority) sent something that is no HTTP/2")
                }
            case .again: canRead = false
            case .end: return fail("\(server.authority) closed the connection")
            case .failed: return fail("the connection to \(server.authority) broke")
            }
            // Also between reads, so that windows are given back in time.
            tellEvents()
            pump()
        }
        pump()
        if canRead, phase == .open { loop.execute { [self] in exchange() } }
    }

    private func tellEvents() {
        guard let session, session.hasEvents else { return }
        // What is told may lead back here.
        var taken: [HTTP2ClientSession.Event] = []
        swap(&taken, &events)
        session.takeEvents(into: &taken)
        for event in taken {
            client.happened(event, on: number)
            if case .answered(_, let stream) = event { session.recycle(stream) }
        }
        taken.removeAll(keepingCapacity: true)
        events = taken
        client.eventsEnd()
    }

    /// Sends what the session has to say, soon: what is asked for in one turn of the loop goes out together.
    private func schedulePump() {
        if isPumpScheduled { return }
        isPumpScheduled = true
        loop.execute { [self] in
            isPumpScheduled = false
            pump()
        }
    }

    private func pump() {
        guard phase == .open, let session else { return }
        while phase == .open {
            if pending.isEmpty {
                var out = loop.takeBuffer()
                session.collectOutput(into: &out, upTo: 32 * 1024)
                let sent = write(out)
                if sent < out.count { pending = Array(out[sent...]) }
                let isDone = out.isEmpty
                loop.giveBack(out)
                if isDone { break }
            } else {
                pending.removeFirst(write(pending))
            }
            if !pending.isEmpty { return }
        }
        // Collecting ends streams that could not be opened any more.
        tellEvents()
        if phase == .open, session.isFinished { fail("\(server.authority) ended the connection") }
    }

    /// - Returns: how much the socket took.
    private func write(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count, let transport {
            switch bytes.withUnsafeBytes({ transport.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
            case .count(let count): sent += count
            case .again: return sent
            case .end, .failed:
                fail("the connection to \(server.authority) broke")
                return sent
            }
        }
        return sent
    }

    // MARK: From the client

    /// - Returns: false when no stream can be opened here.
    func open(_ request: HTTP2ClientRequest, as stream: Int32) -> Bool {
        guard phase == .open, session?.open(request) == stream else { return false }
        schedulePump()
        return true
    }

    func cancel(_ stream: Int32) {
        session?.cancel(stream)
        schedulePump()
    }

    func ping() {
        session?.ping()
        schedulePump()
    }

    /// Says goodbye as far as it goes without waiting, and closes. Nothing more is told.
    func disconnect() {
        if phase == .open, pending.isEmpty, let session {
            var out: [UInt8] = []
            session.sayGoodbye()
            session.collectOutput(into: &out, upTo: 16 * 1024)
            phase = .closed
            _ = write(out)
            transport?.finishWriting()
        }
        phase = .closed
        closeSocket()
    }

    private func fail(_ reason: String) {
        guard phase != .closed else { return }
        // What came before the end counts.
        tellEvents()
        phase = .closed
        closeSocket()
        client.lost(number, reason: reason)
        client.eventsEnd()
    }
}
