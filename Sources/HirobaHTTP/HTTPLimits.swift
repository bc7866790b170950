/// What one client, or all of them, may cost. Each default suits a public server of an app's community.
package struct HTTPLimits: Sendable, Hashable {
    /// Bytes of request line and fields together. Over it: 431. Cookies and a bearer token need 2 KiB; 16 KiB is what
    /// browsers and proxies are known to stay under.
    package var headBytes = 16 * 1024
    /// Number of fields. Over it: 431. Browsers send about 20.
    package var headFields = 100
    /// Bytes of the request target. Over it: 414. RFC 9112 section 3 asks for 8000 at least.
    package var targetBytes = 8 * 1024
    /// From the first byte of a head to its last. Over it: 408. Keeps slow senders from holding connections.
    package var headTime = Duration.seconds(10)
    /// Without a byte between requests, or before the first. The connection is closed.
    package var idleTime = Duration.seconds(60)
    /// Bytes a second a request body must bring on average while the handler waits for it. Under it: 408.
    package var bodyMinimumRate = 500
    /// How long a body may stand still before the rate counts: a phone loses its network for that long.
    package var bodyGraceTime = Duration.seconds(10)
    /// How long a client may leave our answer unread before the connection is cut. Whoever reads, at `bodyMinimumRate` at
    /// least, may take all the time it takes.
    package var writeStallTime = Duration.seconds(30)
    /// How long a TLS handshake may take.
    package var handshakeTime = Duration.seconds(10)
    /// After the client closed its side an answer in the making is given this long before its task is cancelled. A
    /// client may close its side and still read (RFC 9112 section 9.6).
    package var halfClosedTime = Duration.milliseconds(500)
    /// How long a client may go on sending after the last answer that it gets: what it sends is read and thrown away, so
    /// that it sees the answer and not a reset. During a stop it is an eighth of that.
    package var lingerTime = Duration.seconds(2)
    /// Body bytes that are read and thrown away for a handler that did not want them, to keep the connection.
    package var drainBytes = 64 * 1024
    /// Connections of the whole server. Over it: 503 with Retry-After. Each idle one costs about 2 KB. The server raises the
    /// process's limit of file descriptors for it; where the hard limit is too low for that, it takes fewer.
    package var connections = 10_000
    /// Connections from one IPv4 address or one /64 of IPv6. Over it: 503 with Retry-After. Whole mobile networks and
    /// every proxy come from one address, so it is not small.
    package var connectionsPerAddress = 1_000
    /// Bytes read ahead of the request that is being answered, which bounds pipelining.
    package var pipelinedBytes = 64 * 1024
    /// Requests at once on one HTTP/2 connection (SETTINGS_MAX_CONCURRENT_STREAMS).
    package var streamsPerConnection = 100
    /// Bytes of one HTTP/2 request body that may wait for its handler (the stream's window).
    package var streamWindow = 64 * 1024
    /// Bytes of all request bodies of one HTTP/2 connection that may wait for their handlers.
    package var connectionWindow = 1024 * 1024
    /// Streams a client may reset at once, and a second after that at a fifth of it. Over it: GOAWAY with
    /// ENHANCE_YOUR_CALM (the attack of CVE-2023-44487).
    package var streamResets = 100
    /// PING, SETTINGS, PRIORITY and empty DATA frames, counted the same way.
    package var idleFrames = 500

    package init() {}
}
