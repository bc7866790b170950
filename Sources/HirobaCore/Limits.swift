internal import Glibc

/// How much of everything. Defaults are safe for an open forum on a small machine.
package struct Limits: Sendable {
    /// Items in a page when the caller names no number.
    package var page = 100
    /// Most items in a page. More makes single requests heavy without making anything faster.
    package var largestPage = 1000
    /// Unicode scalars in a title: one line on a list.
    package var title = 200
    /// Unicode scalars in the text of a topic or a comment.
    package var text = 20_000
    /// Unicode scalars in a person's name.
    package var name = 50
    /// Bytes of one upload.
    package var uploadBytes = 20 << 20
    /// Sessions of one person. With one more, the one unused for longest ends.
    package var sessionsPerPerson = 100
    /// Devices that pushes to one person go to. With one more, the one unused for longest is nobody's.
    package var devicesPerPerson = 100
    /// Deliveries handed to the gateway and not written down yet, in this process: as many as may arrive twice when it is
    /// killed. Twice what a connection to Apple takes at once keeps it busy.
    package var deliveriesInHand = 500
    /// How long the stories of pushes are kept.
    package var pushes = Duration.seconds(30 * 24 * 3600)
    /// How long a session lives without being used.
    package var sessionLifetime = Duration.seconds(90 * 24 * 3600)
    /// How often at most the use of a session is written down. Its expiry is late by no more than this.
    package var sessionNotedEvery = Duration.seconds(3600)
    /// How long a repeated request with the same idempotency key gets the same answer.
    package var idempotencyKeys = Duration.seconds(24 * 3600)
    /// How long events are kept, and so how long a live stream can have been away and still go on where it was.
    package var events = Duration.seconds(7 * 24 * 3600)
    /// How old bytes without a row must be before they are taken for leftovers: longer than any upload takes.
    package var orphanAge = Duration.seconds(24 * 3600)
    /// How often bytes without a row are looked for: all blobs are listed for it.
    package var orphansEvery = Duration.seconds(6 * 3600)
    /// Live streams at once in this process. Each holds a connection and about 5 KB.
    package var liveStreams = 5000
    /// Items that wait for one slow live stream. With one more it is told to load everything again instead.
    package var liveBuffer = 256
    /// Events that a returning live stream may have missed. With more, loading everything again is cheaper.
    package var liveReplay = 500
    /// Rows changed in one transaction by work in bulk: well below 20 ms, for other writes wait for it.
    package var chunk = 500
    /// Password hashes computed at once, and how many sign-ins may wait for one. Each takes a core and 19 MiB.
    package var hashingThreads = max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)) / 2)
    package var hashingQueue = 64

    package init() {}

    func isStale(_ session: Member.Session, at now: Int64) -> Bool {
        now - session.lastUsedAt >= sessionNotedEvery.milliseconds
    }
}
