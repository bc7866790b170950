package import HirobaStore

/// Devices, and what is told to them: from what happened to the gateway's answer, with everything in between to be read
/// afterwards.
package struct Push: Sendable {
    let desk: Desk

    init(desk: Desk) { self.desk = desk }

    /// For reading beside a running server.
    package init(database: Database, clock: Clock = .system, limits: Limits = Limits()) {
        self.init(desk: Desk(database: database, clock: clock, limits: limits))
    }
}

/// What is needed to send.
package struct PushOptions: Sendable {
    package var gateway: any PushGateway
    /// Where people reach the server, without a slash at the end: pictures in pushes are fetched from there.
    package var publicURL: String

    package init(gateway: any PushGateway, publicURL: String) {
        self.gateway = gateway
        self.publicURL = publicURL
    }
}
