import CNghttp2
import Synchronization

/// The HTTP/2 connection that a request came on, for handlers that speak about it and not only on it: a stand-in for a
/// service that moves its limits, says goodbye or breaks off.
///
/// Each call is carried out on the connection's loop, soon, in the order of the calls; on a connection that is gone it
/// does nothing.
package final class HTTPConnection: Sendable {
    /// Tells connections of one process apart.
    package let id: UInt64
    private let connection: Connection

    init(_ connection: Connection) {
        id = Self.last.wrappingAdd(1, ordering: .relaxed).newValue
        self.connection = connection
    }

    private static let last = Atomic<UInt64>(0)

    /// Tells the client how many streams it may have open from now on (SETTINGS_MAX_CONCURRENT_STREAMS), and refuses
    /// those above. `HTTPLimits.streamsPerConnection` is the most; streams that are open already go on.
    package func setStreamLimit(_ limit: Int) {
        onConnection { connection in
            guard let session = connection.http2, session.setStreamLimit(limit) else { return }
            connection.pump()
        }
    }

    /// Says GOAWAY: requests up to `lastStream` are answered, those above are not even looked at, and the connection
    /// closes when the last one is done. `nil` is the last stream whose request has arrived by then.
    ///
    /// - Parameters:
    ///   - code: of RFC 9113 section 7; 0 is no error.
    ///   - text: what the client is told besides (the frame's debug data).
    package func goAway(lastStream: Int32? = nil, code: UInt32 = 0, text: String = "") {
        onConnection { connection in
            guard let session = connection.http2 else { return }
            session.goAway(lastStream: lastStream, code: code, text: Array(text.utf8))
            connection.pump()
        }
    }

    /// Sends what has been said so far, as far as the socket takes it, and ends the connection.
    package func close() {
        onConnection { connection in
            connection.pumpNow()
            connection.close()
        }
    }

    private func onConnection(_ work: @escaping @Sendable (isolated Connection) -> Void) {
        connection.loop.execute { [connection] in connection.assumeIsolated { work($0) } }
    }
}
