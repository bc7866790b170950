internal import HirobaContract
internal import HirobaCore
internal import HirobaHTTP
internal import HirobaJSON

/// What every page needs to draw itself.
struct PageContext: Sendable {
    let texts: SiteTexts
    let files: WebFiles
    /// The token that this visitor's forms carry.
    let formToken: String
    let me: User.ID?
    /// The page's own address, to come back to after a change of language.
    let address: String
    /// Milliseconds since 1970.
    let now: Int64
}

extension HTML {
    /// What stands at the leading edge of the bar.
    enum Lead {
        case nothing
        case back(to: String, named: String)
    }

    /// A whole page: head, bar, content, foot.
    ///
    /// - Parameter kind: tells the scripts which page this is.
    static func page(
        _ context: PageContext, kind: String, title pageTitle: String, lead: Lead = .nothing, barTitle: String? = nil,
        trail: HTML = .empty, topic: Topic.ID? = nil, mainClass: String = "page", @Builder content: Content
    ) -> HTML {
        let texts = context.texts
        return html(.lang(texts.language.rawValue)) {
            head {
                meta(.init("charset", "utf-8"))
                meta(.name("viewport"), .content("width=device-width, initial-scale=1, viewport-fit=cover"))
                meta(.name("color-scheme"), .content("light dark"))
                title(pageTitle == texts.home ? pageTitle : "\(pageTitle) – \(texts.home)")
                link(.rel("stylesheet"), .href(context.files.address("site.css")))
                link(.rel("icon"), .type("image/svg+xml"), .href(context.files.address("favicon.svg")))
                moduleScript(context.files.address("site.js"))
            }
            body(
                .data("data-page", kind), .data("data-me", context.me?.rawValue ?? ""),
                .data("data-topic", topic?.rawValue ?? "")
            ) {
                a(.class("skip"), .href("#content")) { texts.skipToContent }
                header(.class("bar")) {
                    div(.class("bar-inner")) {
                        nav(.class("bar-lead"), .aria("aria-label", texts.navigation)) {
                            if case .back(let address, let name) = lead {
                                a(.class("bar-button"), .href(address)) {
                                    symbol(context.files.icon("back"), .class("icon"))
                                    span { name }
                                }
                            }
                        }
                        h1(.class("bar-title")) { barTitle ?? pageTitle }
                        div(.class("bar-trail")) { trail }
                    }
                }
                main(.id("content"), .class(mainClass)) { content() }
                foot(context)
                div(.id("status"), .class("status"), .role("status"), .aria("aria-live", "polite")) {}
                alerts(context)
                scriptData(id: "texts", json: texts.forScripts)
            }
        }
    }

    private static func foot(_ context: PageContext) -> HTML {
        let texts = context.texts
        return footer(.class("foot")) {
            a(.href("/")) { texts.home }
            form(.post, .action("/language")) {
                hiddenField("csrf", context.formToken)
                hiddenField("return", context.address)
                button(
                    .class("text-button"), .type("submit"), .name("language"),
                    .value(texts.otherLanguage.rawValue), .lang(texts.otherLanguage.rawValue)
                ) {
                    symbol(context.files.icon("globe"), .class("icon"))
                    texts.otherLanguageName
                }
            }
        }
    }

    /// The two small dialogs that scripts open.
    private static func alerts(_ context: PageContext) -> HTML {
        let texts = context.texts
        return HTML {
            dialog(.id("alert"), .class("alert"), .role("alertdialog"), .aria("aria-labelledby", "alert-title")) {
                form(.init("method", "dialog")) {
                    h2(.id("alert-title"), .data("data-slot", "title")) {}
                    p(.data("data-slot", "detail")) {}
                    div(.class("buttons")) { button(.class("button"), .value("yes"), .autofocus) { texts.ok } }
                }
            }
            dialog(.id("confirm"), .class("alert"), .role("alertdialog"), .aria("aria-labelledby", "confirm-title")) {
                form(.init("method", "dialog")) {
                    h2(.id("confirm-title"), .data("data-slot", "title")) {}
                    p(.data("data-slot", "detail")) {}
                    div(.class("buttons")) {
                        button(.class("button plain"), .value("no"), .autofocus) { texts.cancel }
                        button(.class("button danger"), .value("yes")) { texts.delete }
                    }
                }
            }
        }
    }

    static func hiddenField(_ name: String, _ value: String) -> HTML {
        input(.type("hidden"), .name(name), .value(value))
    }

    /// How long ago something was; the day itself when that is more than a week.
    static func moment(_ context: PageContext, _ milliseconds: Int64) -> HTML {
        let texts = context.texts
        let minutes = max(0, context.now - milliseconds) / 60_000
        let text =
            switch minutes {
            case ..<1: texts.justNow
            case ..<60: texts.minutesAgo("\(minutes)")
            case ..<(24 * 60): texts.hoursAgo("\(minutes / 60)")
            case ..<(7 * 24 * 60): texts.daysAgo("\(minutes / (24 * 60))")
            default: day(milliseconds, texts)
            }
        return time(.datetime(Timestamp.text(milliseconds)), .data("data-relative", "")) { text }
    }

    private static func day(_ milliseconds: Int64, _ texts: SiteTexts) -> String {
        let parts = Timestamp.text(milliseconds).prefix(10).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, (1...12).contains(parts[1]) else { return Timestamp.text(milliseconds) }
        return texts.date(parts[0], parts[1], parts[2])
    }
}
