/// Limits and times of an HTTP/2 client. Times are milliseconds.
package struct HTTP2ClientRules: Sendable, Hashable {
    /// Connections at once. Another is opened only when all there are have no stream left.
    package var connections = 1
    /// Streams on one connection, however many more the server would allow: each holds some kilobytes.
    package var streams = 1000
    /// Requests that wait for a stream. Senders beyond that are held back.
    package var queue = 1000
    /// How long a request may wait for a stream.
    package var queueTime: UInt64 = 30_000
    /// From the opening of a stream to the end of its answer. Some servers never answer now and then.
    package var deadline: UInt64 = 15_000
    /// For finding the server, connecting, TLS and the server's first word.
    package var connectTime: UInt64 = 10_000
    /// Without any answer for so long while streams are open, the server must show that it is alive.
    package var silence: UInt64 = 10_000
    /// The same for a connection with nothing to do: what lies between forgets idle connections.
    package var idlePing: UInt64 = 3_600_000
    /// How long it may take to answer a PING.
    package var pingTime: UInt64 = 5000
    /// How often a request is sent that the server certainly did not process.
    package var attempts = 10
    /// Between a failed connection and the next try; doubles with every failure in a row.
    package var firstPause: UInt64 = 1000
    package var longestPause: UInt64 = 60_000
    /// A connection younger than this is not replaced on request.
    package var leastLife: UInt64 = 30_000
    /// Whether a connection has one request alone until an answer shows that the server takes our credentials: wrong ones
    /// are then refused once and not a thousand times.
    package var startsWithOne = true

    package init() {}
}
