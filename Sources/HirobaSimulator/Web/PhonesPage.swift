internal import HirobaHTTP
internal import HirobaJSON

/// What every piece of the page needs to draw itself.
struct PhonesContext: Sendable {
    let texts: PhonesTexts
    let prefix: String
    /// Of the page's files.
    let version: String
    /// Milliseconds since 1970.
    var now: Int64
    let pages: PhonesWeb.Pages
    let companion: PhonesWeb.Companion?
    let stories: String?

    var home: String { prefix.isEmpty ? "/" : prefix }
    func file(_ name: StaticString) -> String { "\(prefix)/static/\(version)/\(name)" }
    func symbol(_ name: StaticString) -> String { "\(file("symbols.svg"))#\(name)" }
    /// A phone without pages of its own would open this page a second time.
    func opensTab(_ phone: Phone) -> Bool { pages == .tab && phone.webBase != nil }
    func action(_ phone: Phone, _ name: String) -> String { "\(prefix)/devices/\(phone.id)/\(name)" }
}

extension HTML {
    static func phonesPage(_ context: PhonesContext, phones: [Phone], deliveries: [Delivery]) -> HTML {
        let texts = context.texts
        return html(.lang(texts.language.rawValue)) {
            head {
                meta(.init("charset", "utf-8"))
                meta(.name("viewport"), .content("width=device-width, initial-scale=1, viewport-fit=cover"))
                meta(.name("color-scheme"), .content("light dark"))
                title("\(texts.title) – Hiroba")
                link(.rel("stylesheet"), .href(context.file("phones.css")))
                link(.rel("icon"), .type("image/svg+xml"), .href(context.file("favicon.svg")))
                moduleScript(context.file("phones.js"))
            }
            body(.data("data-live", "\(context.prefix)/live"), .when(context.companion != nil, .class("beside"))) {
                a(.class("skip"), .href("#phones")) { texts.skipToContent }
                header(.class("bar")) {
                    div(.class("bar-inner")) {
                        h1 { texts.title }
                        p(.class("lead")) { context.companion == nil ? texts.introduction : texts.introductionBeside }
                        if context.companion != nil {
                            // Without scripts the page stands still.
                            p(.class("lead without-scripts")) {
                                texts.standsStill
                                " "
                                a(.href(context.home)) { texts.lookAgain }
                            }
                        }
                        form(.class("language"), .post, .action("\(context.prefix)/language")) {
                            button(
                                .class("quiet-button"), .type("submit"), .name("language"),
                                .value(texts.otherLanguage.rawValue), .lang(texts.otherLanguage.rawValue)
                            ) {
                                symbol(context.symbol("globe"), .class("icon"))
                                texts.otherLanguageName
                            }
                        }
                    }
                }
                main {
                    if let companion = context.companion {
                        companionFrame(companion, texts)
                    }
                    div(.class("content"), .id("content"), .data("data-key", "content")) {
                        section(.id("phones"), .class("phones"), .aria("aria-label", texts.title)) {
                            if phones.isEmpty { p(.class("empty")) { texts.noPhones } }
                            for phone in phones { HTML.phone(context, phone) }
                        }
                        logSection(context, phones: phones, deliveries: deliveries)
                    }
                }
                div(.id("status"), .class("status"), .role("status"), .aria("aria-live", "polite")) {}
                scriptData(id: "texts", json: texts.forScripts)
            }
        }
    }

    private static func companionFrame(_ companion: PhonesWeb.Companion, _ texts: PhonesTexts) -> HTML {
        let name = texts.language == .ja ? companion.japanese : companion.english
        return section(.class("companion"), .aria("aria-label", name)) {
            iframe(.title(name), .name(companionName), .src(companion.address)) {}
        }
    }

    /// Links that shall open beside the phones name it as their target.
    private static let companionName = "companion"

    // MARK: - A phone

    static func phone(_ context: PhonesContext, _ phone: Phone) -> HTML {
        let texts = context.texts
        let open = phone.apps.first { $0.isInstalled && $0.state == .foreground }
        return article(
            .class("phone"), .id("phone-\(phone.id)"), .data("data-key", "phone-\(phone.id)"),
            .aria("aria-labelledby", "name-\(phone.id)")
        ) {
            h2(.class("phone-name"), .id("name-\(phone.id)")) { phone.name }
            if context.companion != nil, !phone.starts.isEmpty { starts(context, phone) }
            div(.class("device")) {
                section(
                    .class("screen \(wallpaper(of: phone))"), .data("data-screen", open == nil ? "lock" : "app"),
                    .aria("aria-label", texts.lockScreen(phone.name))
                ) {
                    statusBar(context, phone)
                    if let open {
                        appView(context, phone, open)
                    } else {
                        lockScreen(context, phone)
                    }
                }
            }
            if let note = phone.note {
                p(.class(note.isBad ? "note is-bad" : "note")) {
                    symbol(context.symbol(note.isBad ? "warning" : "check"), .class("icon"))
                    span { texts.language == .ja ? note.japanese : note.english }
                }
            }
            div(.class("controls"), .role("group"), .aria("aria-label", texts.controls(phone.name))) {
                for app in phone.apps where app.isInstalled { appControls(context, phone, app) }
                deviceControls(context, phone)
                for app in phone.apps { moreControls(context, phone, app) }
            }
        }
    }

    private static func starts(_ context: PhonesContext, _ phone: Phone) -> HTML {
        div(.class("starts"), .data("data-key", "starts")) {
            p { context.texts.starts(phone.person ?? phone.name) }
            ul {
                for start in phone.starts {
                    li { a(.href(start.address), .init("target", companionName)) { start.title } }
                }
            }
        }
    }

    /// Always the same one for a phone.
    private static func wallpaper(of phone: Phone) -> String {
        "wallpaper-\(phone.id.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % 4)"
    }

    private static func statusBar(_ context: PhonesContext, _ phone: Phone) -> HTML {
        div(.class("status-bar"), .data("data-key", "status-bar")) {
            clock(context, "status-clock")
            span(.class("island")) {}
            span(.class("status-symbols")) {
                if phone.isOnline {
                    symbol(context.symbol("signal"))
                    symbol(context.symbol("wifi"))
                } else {
                    span(.class("visually-hidden")) { context.texts.offline }
                    symbol(context.symbol("airplane"))
                }
                symbol(context.symbol(phone.hasLowPower ? "battery-low" : "battery"), .class("battery"))
            }
        }
    }

    /// The script puts the visitor's own time in; without it, this is the server's in UTC.
    private static func clock(_ context: PhonesContext, _ name: String) -> HTML {
        let minutes = context.now / 60_000 % 1440
        let text = "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
        return span(.class(name), .data("data-clock", "")) { text }
    }

    private static func lockScreen(_ context: PhonesContext, _ phone: Phone) -> HTML {
        let groups = NotificationGroup.groups(on: phone)
        return div(.class("lock"), .data("data-key", "lock")) {
            div(.class("lock-head"), .aria("aria-hidden", "true")) {
                p(.class("lock-date"), .data("data-date", "")) {}
                p(.class("lock-clock")) { clock(context, "big-clock") }
            }
            div(.class("notices-space")) {
                if groups.isEmpty {
                    p(.class("visually-hidden")) { context.texts.nothingNew }
                } else {
                    if groups.reduce(0, { $0 + $1.notifications.count }) > 1 { clearAll(context, phone) }
                    ul(.class("notices"), .aria("aria-live", "polite")) {
                        for group in groups { HTML.group(context, phone, group) }
                    }
                }
            }
            dock(context, phone)
        }
    }

    private static func clearAll(_ context: PhonesContext, _ phone: Phone) -> HTML {
        form(.class("clear-all"), .data("data-in-place", ""), .post, .action(context.action(phone, "clear"))) {
            button(.class("glass-button"), .type("submit"), .aria("aria-label", context.texts.clearAll)) {
                symbol(context.symbol("close"), .class("icon"))
            }
        }
    }

    private static func group(_ context: PhonesContext, _ phone: Phone, _ group: NotificationGroup) -> HTML {
        guard group.notifications.count > 1, let newest = group.notifications.first else {
            return HTML { for one in group.notifications { notice(context, phone, group.app, one) } }
        }
        return li(.class("group"), .data("data-key", "group-\(group.key)")) {
            details(.data("data-key", "details")) {
                summary(.class("stack")) {
                    div(.class("notice-card")) { card(context, group.app, newest) }
                    span(.class("stack-more")) { context.texts.more(group.notifications.count - 1) }
                    span(.class("stack-less")) { context.texts.less }
                }
                ul(.class("group-list")) {
                    for one in group.notifications { notice(context, phone, group.app, one) }
                }
            }
        }
    }

    private static func notice(
        _ context: PhonesContext, _ phone: Phone, _ app: InstalledApp, _ notification: ShownNotification
    ) -> HTML {
        let name = notification.title ?? notification.body ?? app.name
        // A replacement alerts again, so it is drawn as a new one.
        let key = "notice-\(notification.number)"
        return li(
            .class("notice"), .data("data-key", key), .data("data-alert", notification.isPassive ? "passive" : "active")
        ) {
            form(
                .class("notice-tap"), .post, .action(context.action(phone, "tap")),
                .when(!context.opensTab(phone), .data("data-in-place", "")),
                .when(context.opensTab(phone), .init("target", "phone-\(phone.id)"))
            ) {
                hidden("notification", "\(notification.number)")
                button(.class("notice-card"), .type("submit")) { card(context, app, notification) }
            }
            form(.class("notice-dismiss"), .data("data-in-place", ""), .post, .action(context.action(phone, "dismiss")))
            {
                hidden("notification", "\(notification.number)")
                button(.class("glass-button"), .type("submit"), .aria("aria-label", context.texts.dismiss(name))) {
                    symbol(context.symbol("close"), .class("icon"))
                }
            }
        }
    }

    private static func card(
        _ context: PhonesContext, _ app: InstalledApp, _ notification: ShownNotification
    ) -> HTML {
        HTML {
            img(.class("app-icon"), .src(context.file("app.svg")), .alt(app.name), .width(38), .height(38))
            span(.class("notice-text")) {
                span(.class("notice-head")) {
                    strong(.class("notice-title")) { notification.title ?? app.name }
                    moment(context, notification.shownAt)
                }
                if let subtitle = notification.subtitle { span(.class("notice-subtitle")) { subtitle } }
                if let text = notification.body { span(.class("notice-body")) { text } }
            }
            if let picture = notification.picture {
                img(
                    .class("notice-picture"), .src("\(context.prefix)/pictures/\(picture)"), .alt(""), .width(38),
                    .height(38))
            }
        }
    }

    static func moment(_ context: PhonesContext, _ milliseconds: Int64) -> HTML {
        let minutes = max(0, context.now - milliseconds) / 60_000
        let texts = context.texts
        let text =
            switch minutes {
            case ..<1: texts.now
            case ..<60: texts.minutesAgo.replacing("{n}", with: "\(minutes)")
            default: texts.hoursAgo.replacing("{n}", with: "\(minutes / 60)")
            }
        return time(.datetime(Timestamp.text(milliseconds)), .data("data-relative", "")) { text }
    }

    private static func dock(_ context: PhonesContext, _ phone: Phone) -> HTML {
        let texts = context.texts
        return div(.class("dock")) {
            for app in phone.apps where app.isInstalled {
                form(
                    .post, .action(context.action(phone, "open")), .data("data-key", "dock-\(app.bundle)"),
                    .when(!context.opensTab(phone), .data("data-in-place", "")),
                    .when(context.opensTab(phone), .init("target", "phone-\(phone.id)"))
                ) {
                    hidden("bundle", app.bundle)
                    button(.class("dock-app"), .type("submit")) {
                        span(.class("dock-icon")) {
                            img(.src(context.file("app.svg")), .alt(""), .width(52), .height(52))
                            if app.badge > 0 {
                                span(.class("badge"), .aria("aria-label", texts.badge(app.badge))) {
                                    app.badge > 9999 ? "9999+" : "\(app.badge)"
                                }
                            }
                        }
                        span(.class("dock-name")) {
                            span(.class("visually-hidden")) { texts.openApp(app.name) }
                            span(.aria("aria-hidden", "true")) { app.name }
                        }
                    }
                }
            }
        }
    }

    /// The app in front: its page, or a screen that says so.
    private static func appView(_ context: PhonesContext, _ phone: Phone, _ app: InstalledApp) -> HTML {
        let banners = NotificationGroup.groups(on: phone).flatMap { group in group.notifications.map { (group.app, $0) }
        }
        return div(.class("app"), .data("data-key", "app")) {
            if let (owner, newest) = banners.first, app.showsInFront || owner.bundle != app.bundle {
                ul(.class("notices banner"), .aria("aria-live", "polite")) { notice(context, phone, owner, newest) }
            }
            if context.pages == .frame, let page = app.page {
                iframe(.class("app-page"), .data("data-key", "page"), .title(app.name), .src(page)) {}
            } else {
                div(.class("splash")) {
                    img(.src(context.file("app.svg")), .alt(""), .width(84), .height(84))
                    p { context.texts.appIsOpen(app.name) }
                }
            }
            form(.class("home"), .data("data-in-place", ""), .post, .action(context.action(phone, "state"))) {
                hidden("bundle", app.bundle)
                button(
                    .class("home-bar"), .type("submit"), .name("value"), .value("background"),
                    .aria("aria-label", context.texts.goHome)
                ) {}
            }
        }
    }

    static func hidden(_ name: String, _ value: String) -> HTML {
        input(.type("hidden"), .name(name), .value(value))
    }

    // MARK: - Settings

    /// Buttons of which one is in force.
    private static func choice(
        _ context: PhonesContext, _ phone: Phone, _ action: String, label name: String, bundle: String? = nil,
        _ options: [(value: String, text: String)], chosen: String
    ) -> HTML {
        let id = "\(action)-\(phone.id)-\(bundle ?? "")"
        return form(
            .class("choice"), .data("data-in-place", ""), .data("data-key", id), .post,
            .action(context.action(phone, action))
        ) {
            if let bundle { hidden("bundle", bundle) }
            span(.class("choice-label"), .id(id)) { name }
            div(.class("segments"), .role("group"), .aria("aria-labelledby", id)) {
                for (value, text) in options {
                    button(
                        .class("segment"), .type("submit"), .name("value"), .value(value),
                        .aria("aria-pressed", value == chosen ? "true" : "false")
                    ) { text }
                }
            }
        }
    }

    private static func deviceControls(_ context: PhonesContext, _ phone: Phone) -> HTML {
        let texts = context.texts
        return HTML {
            choice(
                context, phone, "online", label: texts.network, [("on", texts.online), ("off", texts.goOffline)],
                chosen: phone.isOnline ? "on" : "off")
            choice(
                context, phone, "low-power", label: texts.power, [("off", texts.fullPower), ("on", texts.lowPower)],
                chosen: phone.hasLowPower ? "on" : "off")
        }
    }

    private static func appControls(_ context: PhonesContext, _ phone: Phone, _ app: InstalledApp) -> HTML {
        let texts = context.texts
        return HTML {
            choice(
                context, phone, "state", label: phone.apps.count > 1 ? app.name : texts.app, bundle: app.bundle,
                [("foreground", texts.inFront), ("background", texts.behind), ("killed", texts.killed)],
                chosen: app.state.rawValue)
            choice(
                context, phone, "permission", label: texts.permission, bundle: app.bundle,
                [("granted", texts.allowed), ("denied", texts.denied), ("notAsked", texts.notAsked)],
                chosen: app.permission.rawValue)
        }
    }

    /// What is seldom needed.
    private static func moreControls(_ context: PhonesContext, _ phone: Phone, _ app: InstalledApp) -> HTML {
        let texts = context.texts
        return HTML {
            if app.held != nil { p(.class("held")) { texts.held } }
            details(.class("more"), .data("data-key", "more-\(app.bundle)")) {
                summary { phone.apps.count > 1 ? "\(texts.moreSettings): \(app.name)" : texts.moreSettings }
                if app.isInstalled {
                    choice(
                        context, phone, "shows-in-front", label: texts.inFrontBanner, bundle: app.bundle,
                        [("on", texts.on), ("off", texts.off)], chosen: app.showsInFront ? "on" : "off")
                }
                dl {
                    dt { texts.token }
                    dd(.class(app.isInstalled ? "token" : "token is-dead")) {
                        code { app.token }
                        if !app.isInstalled { p { texts.deadToken } }
                    }
                    dt { texts.topic }
                    dd { code { app.bundle } }
                    dt { texts.environment }
                    dd { app.environment.rawValue }
                }
                div(.class("buttons")) {
                    plainAction(
                        context, phone, "install", app.bundle, app.isInstalled ? texts.reinstall : texts.install)
                    if app.isInstalled { plainAction(context, phone, "remove", app.bundle, texts.remove) }
                }
            }
        }
    }

    private static func plainAction(
        _ context: PhonesContext, _ phone: Phone, _ action: String, _ bundle: String, _ text: String
    ) -> HTML {
        form(.data("data-in-place", ""), .post, .action(context.action(phone, action))) {
            hidden("bundle", bundle)
            button(.class("button"), .type("submit")) { text }
        }
    }
}

/// Notifications that lie on one stack: of one app, and one thread of it.
struct NotificationGroup {
    let app: InstalledApp
    let key: String
    /// Newest first.
    var notifications: [ShownNotification]

    /// The stack with the newest notification first.
    static func groups(on phone: Phone) -> [NotificationGroup] {
        var groups: [NotificationGroup] = []
        for app in phone.apps {
            for notification in app.notifications {
                let key = "\(app.bundle)/\(app.environment.rawValue)/\(notification.thread ?? "")"
                if let index = groups.firstIndex(where: { $0.key == key }) {
                    groups[index].notifications.append(notification)
                } else {
                    groups.append(NotificationGroup(app: app, key: key, notifications: [notification]))
                }
            }
        }
        return groups.sorted { newest($0) > newest($1) }
    }

    private static func newest(_ group: NotificationGroup) -> Int { group.notifications.map(\.number).max() ?? 0 }
}
