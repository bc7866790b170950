package import HirobaCore
package import HirobaHTTP

/// One way to Apple: a key of a team in one environment, and the apps it is for. Each has its own connections, because
/// Apple binds a connection to the first team and key it sees.
package struct APNsRoute: Sendable {
    package var environment: PushAddress.Environment
    package var key: APNsKey
    /// Bundle identifiers.
    package var apps: [String]
    package var server: HTTP2Client.Configuration

    package init(
        environment: PushAddress.Environment, key: APNsKey, apps: [String], server: HTTP2Client.Configuration? = nil
    ) {
        self.environment = environment
        self.key = key
        self.apps = apps
        self.server = server ?? Self.apple(environment)
    }

    /// Apple's own servers.
    package static func apple(_ environment: PushAddress.Environment) -> HTTP2Client.Configuration {
        var rules = HTTP2ClientRules()
        rules.connections = 2
        let host =
            switch environment {
            case .production: "api.push.apple.com"
            case .sandbox: "api.sandbox.push.apple.com"
            }
        return HTTP2Client.Configuration(host: host, port: 443, rules: rules)
    }

    var description: String { "\(environment.rawValue), team \(key.team), key \(key.id)" }
}
