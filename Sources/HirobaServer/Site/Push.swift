internal import HirobaHTTP

// The fourth door, and what the demo's phones need.
extension Site {
    func registerPush(on routes: inout Routes) {
        guard let phones = options.phones else {
            routes.on(.get, "/push") { request, _ in
                await page(request) { visitor in .page(.pushPage(context(visitor, request))) }
            }
            return
        }
        routes.on(.get, "/enter/{ticket}/{path...}") { request, parameters in
            await page(request) { visitor in
                // A link that was used before, or too late, still leads where it leads.
                if request.method == .get,
                    let person = phones.links.redeem(
                        parameters["ticket"] ?? "", host: request.headers["Host"] ?? "")
                {
                    visitor.become(person)
                }
                return .seeOther(Self.localAddress("/" + (parameters["path"] ?? "")))
            }
        }
    }
}
