import HirobaThreads

/// Numbers about requests, by route, and whatever else the program wants to show, as Prometheus text.
package final class Metrics: Sendable {
    /// What is counted for one route. A request touches only this, under a lock of its own.
    package final class Route: Sendable {
        struct State {
            var statuses: [(status: Int, count: Int)] = []
            var buckets = [Int](repeating: 0, count: Metrics.bounds.count)
            var count = 0
            var microseconds = 0
            var bytes = 0
        }

        let method: String
        let template: String
        /// The template as a JSON string, for the log.
        let quotedTemplate: [UInt8]
        let state = Lock(State())

        init(method: String, template: String) {
            (self.method, self.template) = (method, template)
            var quoted: [UInt8] = []
            appendJSONString(template, to: &quoted)
            quotedTemplate = quoted
        }

        package func record(status: Int, microseconds: Int, bytes: Int) {
            state.withLock { state in
                if let index = state.statuses.firstIndex(where: { $0.status == status }) {
                    state.statuses[index].count += 1
                } else {
                    state.statuses.append((status, 1))
                }
                state.count += 1
                state.microseconds += microseconds
                state.bytes += bytes
                if let index = Metrics.bounds.firstIndex(where: { microseconds <= $0 }) { state.buckets[index] += 1 }
            }
        }
    }

    /// A number asked for when somebody looks.
    package struct Gauge: Sendable {
        package var name: String
        package var help: String
        package var value: @Sendable () async -> Double?

        package init(name: String, help: String, value: @escaping @Sendable () async -> Double?) {
            (self.name, self.help, self.value) = (name, help, value)
        }
    }

    /// Numbers that only grow, one for each value of a label.
    package struct Counter: Sendable {
        package var name: String
        package var help: String
        package var label: String
        package var values: @Sendable () -> [(name: String, count: Int)]

        package init(
            name: String, help: String, label: String, values: @escaping @Sendable () -> [(name: String, count: Int)]
        ) {
            (self.name, self.help, self.label, self.values) = (name, help, label, values)
        }
    }

    /// Upper bounds of the durations' buckets, in microseconds.
    static let bounds = [
        100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
        10_000_000,
    ]

    private struct State {
        var routes: [Route] = []
        var gauges: [Gauge] = []
        var counters: [Counter] = []
    }

    private let state = Lock(State())

    package init() {}

    package func route(method: String, template: String) -> Route {
        state.withLock { state in
            if let route = state.routes.first(where: { $0.method == method && $0.template == template }) {
                return route
            }
            let route = Route(method: method, template: template)
            state.routes.append(route)
            return route
        }
    }

    /// Whether that route was ever asked for by `route(method:template:)`.
    func knows(method: String, template: String) -> Bool {
        state.withLock { $0.routes.contains { $0.method == method && $0.template == template } }
    }

    package func add(_ gauge: Gauge) { state.withLock { $0.gauges.append(gauge) } }
    package func add(_ counter: Counter) { state.withLock { $0.counters.append(counter) } }

    /// The Prometheus text format, version 0.0.4.
    package func text() async -> String {
        let (routes, gauges, counters) = state.withLock { ($0.routes, $0.gauges, $0.counters) }
        var requests = "# HELP hiroba_requests_total Requests answered.\n# TYPE hiroba_requests_total counter\n"
        var durations = """
            # HELP hiroba_request_duration_seconds Time from the request's head to the answer's head.
            # TYPE hiroba_request_duration_seconds histogram

            """
        for route in routes {
            let numbers = route.state.withLock { $0 }
            guard numbers.count > 0 else { continue }
            let labels = "method=\"\(route.method)\",route=\"\(route.template)\""
            for (status, count) in numbers.statuses {
                requests += "hiroba_requests_total{\(labels),status=\"\(status)\"} \(count)\n"
            }
            var total = 0
            for (bound, count) in zip(Metrics.bounds, numbers.buckets) {
                total += count
                let seconds = Double(bound) / 1_000_000
                durations += "hiroba_request_duration_seconds_bucket{\(labels),le=\"\(seconds)\"} \(total)\n"
            }
            durations += """
                hiroba_request_duration_seconds_bucket{\(labels),le="+Inf"} \(numbers.count)
                hiroba_request_duration_seconds_sum{\(labels)} \(Double(numbers.microseconds) / 1_000_000)
                hiroba_request_duration_seconds_count{\(labels)} \(numbers.count)

                """
        }
        var text = requests + durations
        for counter in counters {
            text += "# HELP \(counter.name) \(counter.help)\n# TYPE \(counter.name) counter\n"
            for (name, count) in counter.values() {
                text += "\(counter.name){\(counter.label)=\"\(name)\"} \(count)\n"
            }
        }
        for gauge in gauges {
            guard let value = await gauge.value() else { continue }
            text += "# HELP \(gauge.name) \(gauge.help)\n# TYPE \(gauge.name) gauge\n\(gauge.name) \(value)\n"
        }
        return text
    }
}
