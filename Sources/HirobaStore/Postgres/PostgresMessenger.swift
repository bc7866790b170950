import CLinux
import Glibc
import HirobaThreads

/// Carries signals between nodes over one connection of its own, with LISTEN and NOTIFY.
///
/// A signal is sent after the commit and not inside the transaction: NOTIFY inside would let only one transaction of the
/// whole database commit at a time. A node that dies between the two leaves the others untold, so everybody is also woken
/// once in a while.
final class PostgresMessenger: Sendable {
    let hub = SignalHub()
    private let outbox = Lock(Outbox())
    private let wakeUp: Int32

    private struct Outbox {
        var names: Set<String> = []
        var isClosed = false
    }

    private static let channel = "hiroba_signals"
    private static let longestSilence: Duration = .seconds(10)
    private static let pauseBeforeReconnecting: Int32 = 500

    init(_ server: PostgresServer, _ threads: ThreadCount) {
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // The thread keeps the messenger, and with it the descriptor, until it ends.
        startThread(name: "store-signals") {
            self.run(server)
            threads.leave()
        }
    }

    deinit { Glibc.close(wakeUp) }

    /// Wakes who waits here at once, and those on other nodes soon.
    func send(_ names: Set<String>) {
        guard !names.isEmpty else { return }
        hub.deliver(names)
        outbox.withLock { $0.names.formUnion(names) }
        eventfd_write(wakeUp, 1)
    }

    func close() {
        hub.close()
        outbox.withLock { $0.isClosed = true }
        eventfd_write(wakeUp, 1)
    }

    private var isClosed: Bool { outbox.withLock { $0.isClosed } }

    private func run(_ server: PostgresServer) {
        while !isClosed {
            do {
                let connection = try server.connect(before: .after(.seconds(5)), statementTimeout: .seconds(5))
                try connection.command("LISTEN \(Self.channel)")
                // Whatever was signalled while nobody listened.
                hub.deliverAll()
                while !isClosed { try relay(connection) }
                try sendOutbox(on: connection)
            } catch {
                sleepUntilWoken(Self.pauseBeforeReconnecting)
            }
        }
    }

    private func relay(_ connection: PostgresConnection) throws(StoreError) {
        try sendOutbox(on: connection)
        hub.deliver(try connection.takeNotifications())
        var descriptors = [
            pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
        ]
        let ready = poll(&descriptors, 2, Deadline.after(Self.longestSilence).millisecondsLeft)
        if ready == 0 { hub.deliverAll() }
        emptyWakeUp()
    }

    private func sendOutbox(on connection: PostgresConnection) throws(StoreError) {
        let names = outbox.withLock { outbox in
            defer { outbox.names = [] }
            return outbox.names
        }
        connection.deadline = .after(.seconds(5))
        for name in names.sorted() {
            do {
                _ = try connection.execute(
                    ("SELECT pg_notify(\(Self.channel), \(name))" as SQL).rendered(for: .postgres)
                ) { _ in true }
            } catch {
                // Sent again on the next connection; a signal too many does no harm.
                outbox.withLock { $0.names.formUnion(names) }
                throw error as? StoreError ?? StoreError(.unavailable, "\(type(of: error))")
            }
        }
    }

    private func sleepUntilWoken(_ milliseconds: Int32) {
        // A send that cannot be passed on must not make this a busy loop, so only the pause or the end counts.
        let end = Deadline.after(.milliseconds(Int64(milliseconds)))
        while !isClosed && !end.hasPassed {
            var descriptor = pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)
            poll(&descriptor, 1, end.millisecondsLeft)
            emptyWakeUp()
        }
    }

    private func emptyWakeUp() {
        var count: eventfd_t = 0
        eventfd_read(wakeUp, &count)
    }
}
