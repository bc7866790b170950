import HirobaContract
import HirobaCore
import HirobaHTTP
import HirobaStore

/// Everything that is spoken over HTTP, as one function from a request to its answer.
struct Surface: Sendable {
    private let routes: Routes
    private let api: API
    private let observer: Observer
    private let proxies: TrustedProxies
    private let log: Log
    private let refused: Metrics.Route
    private let unmatched: Metrics.Route
    let metrics: Metrics

    /// The phones beside the demo's forum, and what the site does for them.
    struct Beside: Sendable {
        let phones: any DemoPhones
        let site: SitePhones
    }

    init(
        _ configuration: Configuration, core: Core, database: Database, folder: DataFolder, log: Log,
        verdicts: VerdictCounts? = nil, beside: Beside? = nil
    ) throws {
        self.log = log
        proxies = TrustedProxies(configuration.trustedProxies)
        let metrics = Metrics()
        self.metrics = metrics
        let observer = Observer(
            metrics: metrics, log: configuration.logsRequests ? log : nil,
            isStrictlySecure: configuration.publicURL?.isSecure ?? false)
        self.observer = observer
        refused = metrics.route(method: "", template: "(refused by the engine)")
        let unmatched = metrics.route(method: "", template: "(none)")
        self.unmatched = unmatched

        var options = API.Options()
        options.bodyBytes = configuration.bodyBytes
        options.uploadBytes = configuration.uploadBytes
        options.corsOrigins = configuration.corsOrigins
        options.publicURL = configuration.publicURL?.text
        let faults = Faults(log: log)
        let api = API(core: core, options: options, faults: faults)
        self.api = api

        var routes = Routes()
        routes.wrap = { method, template, handler in
            let route = metrics.route(method: method.rawValue, template: template)
            return { request, parameters in
                let start = nanoseconds()
                // Most requests come from nobody in particular and need no place for a name.
                let recognition = request.headers.contains("Authorization") ? Recognition() : nil
                var response: HTTPResponse
                do {
                    if let recognition {
                        response = try await Recognition.$current.withValue(recognition) {
                            try await handler(request, parameters)
                        }
                    } else {
                        response = try await handler(request, parameters)
                    }
                } catch {
                    // Each surface answers its own errors; what still arrives here is a fault of ours.
                    response = api.problem(for: error, in: request)
                }
                observer.finish(&response, to: request, route: route, since: start, recognition: recognition)
                return response
            }
        }
        Operations(configuration, database: database, core: core, metrics: metrics, verdicts: verdicts)
            .register(on: &routes)
        api.register(on: &routes)
        for call in Calls.all
        where !metrics.knows(method: call.route.method.rawValue, template: call.route.fullTemplate) {
            throw StartFailure("The call \(call.name) is in the contract, but nobody serves it.")
        }
        let siteOptions = SiteOptions(
            secret: try folder.secret("site"), publicURL: configuration.publicURL?.text, phones: beside?.site,
            record: { cause, request in faults.record(cause, in: request) })
        Site(core: core, options: siteOptions).register(on: &routes)
        beside?.phones.register(on: &routes)

        // Below /v1 an address that leads nowhere gets a problem document, elsewhere what the site says of it.
        let (notFound, notAllowed, badPath) = (routes.notFound, routes.methodNotAllowed, routes.badPath)
        routes.notFound = { request in
            try await observer.watch(request, as: unmatched) {
                api.owns(request) ? api.refuse(.noRoute, request) : try await notFound(request)
            }
        }
        routes.methodNotAllowed = { request, methods in
            try await observer.watch(request, as: unmatched) {
                api.owns(request) ? api.refuse(.methodNotAllowed, request) : try await notAllowed(request, methods)
            }
        }
        routes.badPath = { request in
            try await observer.watch(request, as: unmatched) {
                api.owns(request) ? api.refuse(.badPath, request) : try await badPath(request)
            }
        }
        self.routes = routes
    }

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        var request = request
        if !proxies.isEmpty { believeProxy(&request) }
        if let response = api.preflight(request) {
            return await observer.watch(request, as: unmatched) { response }
        }
        do {
            return try await routes.handle(request)
        } catch {
            return await observer.watch(request, as: unmatched) { [request] in api.problem(for: error, in: request) }
        }
    }

    /// Puts the client that a named proxy tells of in the place of the proxy.
    private func believeProxy(_ request: inout HTTPRequest) {
        guard
            let origin = proxies.origin(
                peer: request.peer.ip, forwardedFor: request.headers.values("X-Forwarded-For"),
                forwardedProtocol: request.headers["X-Forwarded-Proto"])
        else { return }
        request.peer = SocketAddress(ip: origin.address, port: 0)
        if let isSecure = origin.isSecure { request.isSecure = isSecure }
    }

    /// What the engine tells of itself.
    @Sendable func observe(_ event: HTTPServerConfiguration.Event) {
        switch event {
        case .refused(let status, let reason, let peer):
            refused.record(status: status.rawValue, microseconds: 0, bytes: 0)
            observer.log?.line("refused") { line in
                line.append(contentsOf: ",\"status\":\(status.rawValue),\"reason\":".utf8)
                appendJSONString(reason, to: &line)
                line.append(contentsOf: ",\"peer\":".utf8)
                appendJSONString(peer.ip, to: &line)
            }
        case .fault(let cause):
            log.line("fault") { line in
                line.append(contentsOf: ",\"cause\":".utf8)
                appendJSONString(cause, to: &line)
            }
        }
    }
}
