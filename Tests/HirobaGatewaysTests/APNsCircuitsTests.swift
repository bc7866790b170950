import Testing

@testable import HirobaGateways

@Suite struct APNsCircuitsTests {
    /// `#expect` calls no mutating methods.
    private final class Circuits {
        var all = APNsCircuits(pause: 1000)

        init(closed way: APNsCircuits.Way) { all.close(way, reason: "why", now: 0) }

        func passage(route: Int, app: String, now: Int64) -> APNsCircuits.Passage {
            all.passage(route: route, app: app, now: now)
        }
    }

    private final class Suspicion {
        private var suspicion = APNsSuspicion()
        func note(isBad: Bool) -> Bool { suspicion.note(isBad: isBad) }
    }

    @Test("a closed route stops all its apps, a closed app only itself")
    func ways() {
        var circuits = Circuits(closed: .route(1))
        #expect(circuits.passage(route: 1, app: "a", now: 1) == .closed(reason: "why"))
        #expect(circuits.passage(route: 1, app: "b", now: 1) == .closed(reason: "why"))
        #expect(circuits.passage(route: 2, app: "a", now: 1) == .free)
        circuits = Circuits(closed: .app("a", route: 1))
        #expect(circuits.passage(route: 1, app: "a", now: 1) == .closed(reason: "why"))
        #expect(circuits.passage(route: 1, app: "b", now: 1) == .free)
        #expect(circuits.passage(route: 2, app: "a", now: 1) == .free)
        circuits.all.openAll()
        #expect(circuits.passage(route: 1, app: "a", now: 1) == .free)
    }

    @Test("after a pause one message tries, the others wait for what it finds")
    func probe() {
        let circuits = Circuits(closed: .route(1))
        #expect(circuits.passage(route: 1, app: "a", now: 999) == .closed(reason: "why"))
        #expect(circuits.passage(route: 1, app: "a", now: 1000) == .probe)
        #expect(circuits.passage(route: 1, app: "a", now: 1000) == .closed(reason: "why"))
        circuits.all.probed(route: 1, app: "a", isOpen: nil)
        #expect(circuits.passage(route: 1, app: "a", now: 1001) == .probe, "it learnt nothing: the next one tries")
        circuits.all.close(.route(1), reason: "still", now: 1001)
        circuits.all.probed(route: 1, app: "a", isOpen: false)
        #expect(circuits.passage(route: 1, app: "a", now: 2000) == .closed(reason: "still"))
        #expect(circuits.passage(route: 1, app: "a", now: 2001) == .probe)
        circuits.all.probed(route: 1, app: "a", isOpen: true)
        #expect(circuits.passage(route: 1, app: "a", now: 2002) == .free)
        #expect(circuits.all.isEverythingOpen)
    }

    @Test("a few bad tokens among many are the devices' fault, many are not")
    func suspicion() {
        var suspicion = Suspicion()
        for number in 0..<10_000 { #expect(!suspicion.note(isBad: number % 25 == 0), "four in a hundred") }
        suspicion = Suspicion()
        for _ in 0..<19 { #expect(!suspicion.note(isBad: true)) }
        for _ in 0..<380 { #expect(!suspicion.note(isBad: false)) }
        #expect(suspicion.note(isBad: true), "the twentieth of 400")
        #expect(!suspicion.note(isBad: true), "counted anew")
        for _ in 0..<400 { #expect(!suspicion.note(isBad: false)) }
        for _ in 0..<19 { #expect(!suspicion.note(isBad: true), "the old ones are forgotten") }
    }
}
