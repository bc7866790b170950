internal import HirobaHTTP

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
}
