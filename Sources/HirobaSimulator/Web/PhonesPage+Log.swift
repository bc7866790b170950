internal import HirobaHTTP
internal import HirobaJSON

/// What happened, push by push, below the phones.
extension HTML {
    static func logSection(_ context: PhonesContext, phones: [Phone], deliveries: [Delivery]) -> HTML {
        let texts = context.texts
        return section(.class("log"), .aria("aria-labelledby", "log-title")) {
            div(.class("log-head")) {
                h2(.id("log-title")) { texts.log }
                form(.data("data-in-place", ""), .post, .action("\(context.prefix)/log/clear")) {
                    button(.class("quiet-button"), .type("submit")) { texts.clearLog }
                }
            }
            p(.class("lead")) { texts.logIntroduction }
            ol(.class("deliveries"), .id("deliveries")) {
                for delivery in deliveries {
                    HTML.delivery(context, delivery, phone: phones.first { $0.id == delivery.phone })
                }
            }
            p(.class("empty")) { texts.emptyLog }
        }
    }

    static func delivery(_ context: PhonesContext, _ delivery: Delivery, phone: Phone?) -> HTML {
        let texts = context.texts
        let name = phone?.name ?? texts.crowd
        let outcome = delivery.outcome
        return li(
            .class("delivery"), .data("data-key", "delivery-\(delivery.number)"),
            .data("data-outcome", tone(of: delivery)),
            .data("data-apns-id", delivery.apnsID)
        ) {
            details(.data("data-key", "story")) {
                summary {
                    span(.class("chip")) { texts.chip(outcome) }
                    span(.class("delivery-text")) {
                        strong { delivery.title ?? delivery.body ?? texts.withoutTitle }
                        span(.class("delivery-phone")) { name }
                        span(.class("delivery-why")) { texts.sentence(outcome, name) }
                        if !delivery.findings.isEmpty { span(.class("delivery-findings")) { texts.findings } }
                    }
                    moment(context, delivery.moments.first?.time ?? context.now)
                }
                div(.class("story")) {
                    if let stories = context.stories {
                        p(.class("whole")) { a(.href(stories + delivery.apnsID)) { texts.wholeStory } }
                    }
                    h3 { texts.details }
                    ol(.class("steps")) {
                        for moment in delivery.moments {
                            li(.data("data-step", moment.step.name)) {
                                time(.datetime(Timestamp.text(moment.time))) {
                                    String(Timestamp.text(moment.time).dropFirst(11).dropLast())
                                }
                                span { texts.sentence(moment.step, name) }
                            }
                        }
                    }
                    if !delivery.findings.isEmpty {
                        h3(.class("findings")) { texts.findings }
                        ul(.class("findings")) { for finding in delivery.findings { li { finding } } }
                    }
                    dl { facts(texts, delivery) }
                }
            }
        }
    }

    private static func facts(_ texts: PhonesTexts, _ delivery: Delivery) -> HTML {
        let facts: [(String, String?)] = [
            ("apns-id", delivery.apnsID), ("apns-unique-id", delivery.uniqueID), (texts.token, delivery.token),
            (texts.topic, delivery.bundle), (texts.environment, delivery.environment.rawValue),
            (texts.pushType, delivery.type), (texts.priority, "\(delivery.priority)"),
            (texts.collapseID, delivery.collapseID),
        ]
        return HTML {
            for (name, value) in facts {
                if let value, !value.isEmpty {
                    dt { name }
                    dd { code { value } }
                }
            }
        }
    }

    /// How it looks: good, waiting, or a reason to look closer.
    private static func tone(of delivery: Delivery) -> String {
        switch delivery.outcome {
        case .refused: return "bad"
        case .shown, .replaced: return delivery.findings.isEmpty ? "good" : "warning"
        case .discarded, .expired, .overwritten, .pictureMissing: return "warning"
        case .stored, .held, .accepted: return "waiting"
        default: return "good"
        }
    }
}
