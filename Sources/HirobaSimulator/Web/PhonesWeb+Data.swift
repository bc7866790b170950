internal import HirobaHTTP
internal import HirobaJSON

/// What tests and scripts read and set: the same phones as JSON.
extension PhonesWeb {
    func registerData(on routes: inout Routes) {
        let prefix = options.prefix
        routes.on(.get, "\(prefix)/devices") { request, _ in
            await guarded(request) { Self.json(["devices": .array(await phones.all.map(\.json))]) }
        }
        routes.on(.get, "\(prefix)/devices/{phone}") { request, parameters in
            await guarded(request) {
                guard let phone = await phones.phone(parameters["phone"] ?? "") else { return Self.nothing }
                return Self.json(phone.json)
            }
        }
        // {"id", "name", "person"?, "webBase"?, "apps": [{"bundle", "name"?, "environment"?}]}
        routes.on(.post, "\(prefix)/devices") { request, _ in await withJSON(request) { await addPhone($0) } }
        // {"count", "bundle", "environment"?}: tokens that take pushes and belong to no phone on the page.
        routes.on(.post, "\(prefix)/crowd") { request, _ in await withJSON(request) { await addCrowd($0) } }
        // {"token", "environment"?, "expired"?}
        routes.on(.post, "\(prefix)/dead-tokens") { request, _ in await withJSON(request) { await kill($0) } }
        routes.on(.get, "\(prefix)/log") { request, _ in
            await guarded(request) {
                Self.json(["deliveries": .array(await phones.deliveries().reversed().map(\.json))])
            }
        }
        routes.on(.get, "\(prefix)/log/{id}") { request, parameters in
            await guarded(request) {
                let deliveries = await phones.deliveries(of: parameters["id"] ?? "")
                guard !deliveries.isEmpty else { return Self.nothing }
                return Self.json(["deliveries": .array(deliveries.map(\.json))])
            }
        }
        guard let front else { return }
        routes.on(.get, "\(prefix)/front") { request, _ in await guarded(request) { Self.json(Self.state(of: front)) } }
        routes.on(.post, "\(prefix)/front/switches") { request, _ in
            await withJSON(request) { json in
                do throws(FrontSwitches.Unusable) {
                    try front.setSwitches(json)
                } catch {
                    return .text(.badRequest, "\(error)\n")
                }
                return Self.json(front.switches.json)
            }
        }
        // {"reason"?, "hard"?}
        routes.on(.post, "\(prefix)/front/goaway") { request, _ in
            await withJSON(request) { json in
                front.goAway(reason: json["reason"]?.string, isHard: json["hard"]?.bool ?? false)
                return Self.json(Self.state(of: front))
            }
        }
    }

    private static var nothing: HTTPResponse { .text(.notFound, "There is nothing here.\n") }
    private static var unreadable: HTTPResponse { .text(.badRequest, "The body must be JSON that says what to do.\n") }

    private func withJSON(_ request: HTTPRequest, _ answer: (JSON) async -> HTTPResponse) async -> HTTPResponse {
        await guarded(request) {
            guard let bytes = try? await request.body.collect(upTo: 1 << 20), let json = try? JSON.parse(bytes) else {
                return Self.unreadable
            }
            return await answer(json)
        }
    }

    private static func state(of front: Front) -> JSON {
        let counters = front.counters
        return [
            "connections": .integer(Int64(front.connections)),
            "connectionsSoFar": .integer(Int64(counters.connections)),
            "accepted": .integer(Int64(counters.accepted)), "unanswered": .integer(Int64(counters.unanswered)),
            "refused": .object(
                JSONObject(
                    counters.refused.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                        ($0.key.rawValue, .integer(Int64($0.value)))
                    })),
            "switches": front.switches.json,
        ]
    }

    private func addPhone(_ json: JSON) async -> HTTPResponse {
        guard let id = json["id"]?.string else { return Self.unreadable }
        let phone = Phone(
            id: id, name: json["name"]?.string ?? id, person: json["person"]?.string,
            webBase: json["webBase"]?.string)
        guard await phones.add(phone) else {
            return .text(.conflict, "This id is taken, or holds more than letters, digits and hyphens.\n")
        }
        for app in json["apps"]?.array ?? [] {
            guard let bundle = app["bundle"]?.string else { continue }
            await phones.install(
                bundle, named: app["name"]?.string, environment: Self.environment(in: app), on: id)
        }
        guard let made = await phones.phone(id) else { return Self.nothing }
        return Self.json(made.json, .created)
    }

    private func addCrowd(_ json: JSON) async -> HTTPResponse {
        guard let bundle = json["bundle"]?.string, let count = json["count"]?.integer, (1...1_000_000).contains(count)
        else { return Self.unreadable }
        let tokens = await phones.addCrowd(Int(count), bundle: bundle, environment: Self.environment(in: json))
        return Self.json(["tokens": .array(tokens.map(JSON.string))], .created)
    }

    private func kill(_ json: JSON) async -> HTTPResponse {
        guard let token = json["token"]?.string else { return Self.unreadable }
        let isKnown = await phones.kill(
            token: token.lowercased(), in: Self.environment(in: json), asExpired: json["expired"]?.bool ?? false)
        return isKnown ? HTTPResponse(.noContent) : Self.nothing
    }

    private static func environment(in json: JSON) -> PushEnvironment {
        json["environment"]?.string.flatMap(PushEnvironment.init(rawValue:)) ?? .sandbox
    }
}
