import HirobaContract
import HirobaCore
import HirobaHTTP

extension API {
    /// `GET /live`: what happens, as it happens. `Last-Event-ID` goes on after the position it names.
    func serveLive(on routes: inout Routes) {
        on(Live.self, &routes) { request, parameters in
            let call = try CallCoding.decode(
                Live.self, path: { parameters[$0] }, query: request.query, body: [])
            let events = try await core.events.subscribe(
                call, from: request.headers[HeaderName.lastEventID], by: caller(of: request))
            return .events { sender in
                for await event in events {
                    try await sender.send(
                        ServerSentEvent(
                            id: event.id, event: event.name.rawValue, data: String(decoding: event.data, as: UTF8.self))
                    )
                }
            }
        }
    }
}
