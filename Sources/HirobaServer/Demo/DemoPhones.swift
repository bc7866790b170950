package import HirobaCore
package import HirobaHTTP

/// Simulated phones beside the demo's forum. The program that holds both parts hands them in, for the server knows no
/// simulator.
package protocol DemoPhones: Sendable {
    init(at place: DemoPlace) async throws
    /// The ways to the stand-in for APNs behind which the phones are.
    var apns: [APNsEntry] { get }
    /// Mounts the page with the phones at `DemoPlace.page`.
    func register(on routes: inout Routes)
    /// Does what apps and people do, until the task is cancelled.
    func run(on stage: DemoStage) async
    func stop() async
}

/// Where the phones are to be.
package struct DemoPlace: Sendable {
    /// For whatever they keep.
    package let folder: String
    /// The path of their page.
    package let page: String
    /// The host of their page, and below which each phone's own pages have theirs; nil when the demo is not looked at from
    /// this machine in the clear, where such names lead nowhere.
    package let name: String?
    /// The host, with a port, of the public address, if one was given.
    package let publicHost: String?
    package let people: [DemoPerson]

    init(_ configuration: Configuration, people secret: [UInt8]) {
        folder = configuration.data + "/phones"
        page = Self.page
        let host = configuration.publicURL?.authority ?? "localhost"
        let isHere = ["localhost", "127.0.0.1", "[::1]"].contains { host == $0 || host.hasPrefix("\($0):") }
        name = isHere && configuration.certificate == nil ? Self.name : nil
        publicHost = configuration.publicURL?.authority.lowercased()
        people = DemoCommunity.peopleWithPhones(secret: secret)
    }

    package static let page = "/phones"
    package static let name = "hiroba.localhost"
}

/// The demo that runs, as the phones see it.
package struct DemoStage: Sendable {
    package let core: Core
    package let port: Int
    /// Where people reach the demo.
    package let address: String
    package let links: SignInLinks
    /// For what goes wrong and stops nobody.
    package let report: @Sendable (String) -> Void
}
