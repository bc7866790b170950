internal import HirobaHTTP

extension HTML {
    /// Four doors. Those that lead nowhere yet say so and are no links.
    ///
    /// - Parameter phones: the page with the forum and phones side by side, where there is one.
    static func frontPage(_ context: PageContext, phones: String? = nil) -> HTML {
        let texts = context.texts
        return page(context, kind: "front", title: texts.home, mainClass: "page front") {
            div(.class("hello")) {
                p { texts.welcome }
            }
            div(.class("doors")) {
                door(context, "door-forum.svg", texts.forumDoor, texts.forumDoorText, leadsTo: "/forum")
                door(context, "door-photos.svg", texts.photosDoor, texts.photosDoorText, leadsTo: nil)
                door(context, "door-client.svg", texts.clientDoor, texts.clientDoorText, leadsTo: "/typed-client")
                door(
                    context, "door-push.svg", texts.pushDoor, texts.pushDoorText, leadsTo: phones ?? "/push",
                    // That page may be the one inside which this is looked at.
                    leavesFrame: true)
            }
        }
    }

    private static func door(
        _ context: PageContext, _ picture: StaticString, _ name: String, _ sentence: String, leadsTo address: String?,
        leavesFrame: Bool = false
    ) -> HTML {
        article(.class(address == nil ? "door is-closed" : "door")) {
            img(.src(context.files.address(picture)), .alt(""), .width(320), .height(180))
            div(.class("door-text")) {
                h2 {
                    if let address {
                        a(.href(address), .when(leavesFrame, .init("target", "_top"))) { name }
                    } else {
                        name
                        span(.class("badge")) { context.texts.notYet }
                    }
                }
                p { sentence }
            }
        }
    }

    /// The example program, whole, and how to run it.
    static func typedClientPage(_ context: PageContext, code source: String) -> HTML {
        let texts = context.texts
        return page(
            context, kind: "client", title: texts.clientTitle, lead: .back(to: "/", named: texts.home),
            mainClass: "page wide"
        ) {
            div(.class("prose")) {
                p { texts.clientIntroduction }
                h2 { texts.clientCode }
                pre(.class("code"), .init("tabindex", "0"), .lang("en"), text: source)
                h2 { texts.clientCommand }
                p { texts.clientCommandText }
                pre(.class("code"), .lang("en"), text: "swift run marvel-server &\nswift run marvel")
            }
        }
    }

    /// One sentence where a page should be, and a way on.
    static func messagePage(
        _ context: PageContext, title pageTitle: String, text: String, isRefusal: Bool = false
    ) -> HTML {
        page(context, kind: "message", title: pageTitle, lead: .back(to: "/", named: context.texts.home)) {
            div(.class("empty")) {
                span(.class("bubbles")) { symbol(context.files.icon("bubbles")) }
                if isRefusal { p(.role("alert")) { text } } else { p { text } }
                a(.class("button soft"), .href("/forum")) { context.texts.toForum }
            }
        }
    }
}
