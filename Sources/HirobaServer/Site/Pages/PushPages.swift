internal import HirobaContract
internal import HirobaHTTP
internal import HirobaJSON

extension HTML {
    /// How to see push, where no phones stand beside the forum.
    static func pushPage(_ context: PageContext) -> HTML {
        let texts = context.texts
        return page(
            context, kind: "push", title: texts.pushTitle, lead: .back(to: "/", named: texts.home),
            mainClass: "page wide"
        ) {
            div(.class("prose")) {
                p { texts.pushIntroduction }
                h2 { texts.pushDemo }
                p { texts.pushDemoText }
                pre(.class("code"), .lang("en"), text: "make demo")
                h2 { texts.pushCommands }
                p { texts.pushCommandsText }
                pre(
                    .class("code"), .lang("en"),
                    text: """
                        hiroba push list
                        hiroba push story ID
                        hiroba device list
                        hiroba device why ID
                        """)
            }
        }
    }

    // MARK: - Stories

    static func storyList(_ context: PageContext, _ pushes: [PushSummary], phones: String) -> HTML {
        let texts = context.texts
        return page(
            context, kind: "stories", title: texts.storiesTitle, lead: .back(to: phones, named: texts.toPhones)
        ) {
            p(.class("stories-lead")) { pushes.isEmpty ? texts.noStories : texts.storiesIntroduction }
            if !pushes.isEmpty {
                ul(.class("rows")) {
                    for push in pushes {
                        li(.class("row")) {
                            div(.class("row-face")) {
                                a(.class("row-link"), .href("/push/\(push.id)")) {
                                    span(.class("row-text")) {
                                        span(.class("row-title")) { push.sentence }
                                        span(.class("row-meta")) {
                                            push.kind
                                            " · "
                                            moment(context, push.happenedAt.milliseconds ?? context.now)
                                        }
                                    }
                                    symbol(context.files.icon("chevron"), .class("row-chevron"))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    static func storyPage(_ context: PageContext, _ told: ToldStory, phones: String) -> HTML {
        let texts = context.texts
        let (story, push) = (told.story, told.story.push)
        return page(
            context, kind: "story", title: texts.storyTitle, lead: .back(to: phones, named: texts.toPhones)
        ) {
            div(.class("card story")) {
                p(.class("story-sum")) { push.sentence }
                section(.aria("aria-labelledby", "story-event")) {
                    h2(.id("story-event")) { texts.storyEvent }
                    p { what(told, texts) }
                    if push.actor != nil { p { texts.storyBy(told.actor ?? texts.anonymous) } }
                    p(.class("story-time")) { exact(push.happenedAt.milliseconds) }
                }
                section(.aria("aria-labelledby", "story-people")) {
                    h2(.id("story-people")) { texts.storyPeople }
                    if story.people.isEmpty { p { texts.storyNobody } }
                    ul {
                        for person in story.people {
                            li(.data("data-decision", person.decision.rawValue)) {
                                strong { person.name ?? texts.anonymous }
                                ": \(person.sentence)"
                            }
                        }
                    }
                }
                section(.aria("aria-labelledby", "story-deliveries")) {
                    h2(.id("story-deliveries")) { texts.storyDeliveries }
                    if story.deliveries.isEmpty { p { texts.storyNoDelivery } }
                    for delivery in story.deliveries { storyDelivery(delivery, story, texts) }
                    if !story.isWhole { p { texts.storyMore } }
                }
                p(.class("story-time")) {
                    texts.storyCommand
                    " "
                    code { "hiroba push story \(push.id)" }
                }
            }
        }
    }

    private static func what(_ told: ToldStory, _ texts: SiteTexts) -> HTML {
        guard let topic = told.topic else { return HTML { texts.storyOther(told.story.push.kind) } }
        return a(.href("/forum/\(topic.id)")) { texts.storyComment(topic.title) }
    }

    private static func storyDelivery(_ delivery: PushDelivery, _ story: PushStory, _ texts: SiteTexts) -> HTML {
        let person = story.people.first { $0.user == delivery.user }?.name ?? texts.anonymous
        return article(.class("story-delivery"), .data("data-state", delivery.state.rawValue)) {
            h3 { texts.storyDevice(delivery.device.rawValue, person) }
            p { delivery.sentence }
            dl {
                fact(texts.storyMade) { exact(delivery.createdAt.milliseconds) }
                if let sentAt = delivery.sentAt { fact(texts.storySent) { exact(sentAt.milliseconds) } }
                if delivery.attempts > 1 || delivery.isResent {
                    fact(texts.storyAttempts) {
                        "\(delivery.attempts)\(delivery.isResent ? " (\(texts.storyResent))" : "")"
                    }
                }
                if let dueAt = delivery.dueAt, delivery.endedAt == nil {
                    fact(texts.storyDue) { exact(dueAt.milliseconds) }
                }
                if let endedAt = delivery.endedAt {
                    fact(texts.storyAnswered) {
                        exact(endedAt.milliseconds)
                        " "
                        delivery.reason ?? delivery.state.rawValue
                    }
                }
                if let openedAt = delivery.openedAt {
                    fact(texts.storyOpened) { exact(openedAt.milliseconds) }
                } else if delivery.state == .accepted {
                    fact(texts.storyOpened) { texts.storyNotOpened }
                }
                fact("apns-id") { code { delivery.id.rawValue } }
                if let unique = delivery.uniqueID { fact("apns-unique-id") { code { unique } } }
            }
        }
    }

    private static func fact(_ name: String, @Builder _ value: Content) -> HTML {
        HTML {
            dt { name }
            dd { value() }
        }
    }

    /// To the millisecond, in UTC: whoever reads a story compares times.
    private static func exact(_ milliseconds: Int64?) -> HTML {
        let text = Timestamp.text(milliseconds ?? 0)
        return time(.datetime(text)) { "\(text.prefix(10)) \(text.dropFirst(11))" }
    }
}
