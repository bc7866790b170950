/// A piece of a page.
///
/// Text and attribute values are escaped because there is no other way to put them in: a `String` inside a builder
/// becomes text, an attribute's name is a `StaticString`, and there is no attribute for inline scripts or styles.
/// The one door for ready markup is `unescaped:`, ugly on purpose.
///
/// Pages are written as static members in an extension of `HTML`, where `div { … }` and `a(.href(…)) { … }` need no
/// prefix and take nobody else's names:
///
///     extension HTML {
///         static func greeting(_ name: String) -> HTML {
///             p(.class("greeting")) { "Hello, "; strong { name } }
///         }
///     }
package struct HTML: Sendable {
    private indirect enum Piece: Sendable {
        case nothing
        case text(String)
        case unescaped(String)
        case sequence([HTML])
        case element(name: String, attributes: [Attribute], content: HTML, kind: Kind)
        case scriptData(id: String, json: [UInt8])
    }

    private enum Kind: Sendable {
        case ordinary
        /// `<img>`: no content and no end tag.
        case void
        /// `<pre>`, `<textarea>`: a parser drops one line break after the start tag, so one is put there for it.
        case keepsLineBreaks
    }

    private let piece: Piece

    private init(_ piece: Piece) { self.piece = piece }

    package static let empty = HTML(.nothing)

    package init(text: String) { self.init(.text(text)) }

    /// Markup that is already HTML. Whoever calls this vouches that nothing in it came from outside.
    package init(unescaped markup: String) { self.init(.unescaped(markup)) }

    package init(_ pieces: [HTML]) { self.init(.sequence(pieces)) }

    package init(@Builder _ content: () -> HTML) { self = content() }

    // MARK: Writing

    /// Appends the markup to `output`, in one pass over the tree.
    package func write(into output: inout [UInt8]) {
        switch piece {
        case .nothing: break
        case .text(let text): Self.appendEscaped(text, to: &output)
        case .unescaped(let markup): output.append(contentsOf: markup.utf8)
        case .sequence(let pieces): for piece in pieces { piece.write(into: &output) }
        case .element(let name, let attributes, let content, let kind):
            output.append(UInt8(ascii: "<"))
            output.append(contentsOf: name.utf8)
            for attribute in attributes { attribute.write(into: &output) }
            output.append(UInt8(ascii: ">"))
            if kind == .void { return }
            if kind == .keepsLineBreaks { output.append(UInt8(ascii: "\n")) }
            content.write(into: &output)
            output.append(UInt8(ascii: "<"))
            output.append(UInt8(ascii: "/"))
            output.append(contentsOf: name.utf8)
            output.append(UInt8(ascii: ">"))
        case .scriptData(let id, let json):
            output.append(contentsOf: "<script type=\"application/json\" id=\"".utf8)
            Self.appendEscaped(id, to: &output)
            output.append(contentsOf: "\">".utf8)
            Self.appendScriptData(json, to: &output)
            output.append(contentsOf: "</script>".utf8)
        }
    }

    /// The piece alone, without a doctype.
    package var bytes: [UInt8] {
        var output: [UInt8] = []
        write(into: &output)
        return output
    }

    /// A whole page: the doctype and this piece, which is the `html` element.
    package var documentBytes: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(16 << 10)
        output.append(contentsOf: "<!doctype html>\n".utf8)
        write(into: &output)
        return output
    }

    /// Text is copied in runs; only the five characters that mean something to a parser, and NUL, are replaced.
    static func appendEscaped(_ text: String, to output: inout [UInt8]) {
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            for index in bytes.indices {
                let replacement: StaticString
                switch bytes[index] {
                case UInt8(ascii: "&"): replacement = "&amp;"
                case UInt8(ascii: "<"): replacement = "&lt;"
                case UInt8(ascii: ">"): replacement = "&gt;"
                case UInt8(ascii: "\""): replacement = "&quot;"
                case UInt8(ascii: "'"): replacement = "&#39;"
                case 0: replacement = "\u{FFFD}"
                default: continue
                }
                output.append(contentsOf: bytes[start..<index])
                replacement.withUTF8Buffer { output.append(contentsOf: $0) }
                start = index + 1
            }
            output.append(contentsOf: bytes[start...])
        }
    }

    /// JSON inside `<script>` is not unescaped by a parser, which looks only for `</script` and `<!--`. Written as
    /// `\u003c` the first character of both never occurs, and the JSON means the same.
    private static func appendScriptData(_ json: [UInt8], to output: inout [UInt8]) {
        for byte in json {
            switch byte {
            case UInt8(ascii: "<"): output.append(contentsOf: "\\u003c".utf8)
            case UInt8(ascii: ">"): output.append(contentsOf: "\\u003e".utf8)
            case UInt8(ascii: "&"): output.append(contentsOf: "\\u0026".utf8)
            default: output.append(byte)
            }
        }
    }

    // MARK: Attributes

    /// One attribute. Addresses go through `Address`, so that `javascript:` and its kin cannot come in with data.
    package struct Attribute: Sendable {
        private let name: String
        private let value: String?
        private let isPresent: Bool

        /// An attribute for which there is no function. Not for addresses, and not for `on…` and `style`, which the
        /// content policy switches off anyway.
        package init(_ name: StaticString, _ value: String) {
            self.name = name.description
            self.value = value
            self.isPresent = true
        }

        private init(flag name: StaticString, isPresent: Bool = true) {
            self.name = name.description
            self.value = nil
            self.isPresent = isPresent
        }

        fileprivate func write(into output: inout [UInt8]) {
            guard isPresent else { return }
            output.append(UInt8(ascii: " "))
            output.append(contentsOf: name.utf8)
            guard let value else { return }
            output.append(contentsOf: "=\"".utf8)
            HTML.appendEscaped(value, to: &output)
            output.append(UInt8(ascii: "\""))
        }

        /// The attribute, or nothing.
        package static func when(_ condition: Bool, _ attribute: @autoclosure () -> Attribute) -> Attribute {
            condition ? attribute() : Attribute(flag: "", isPresent: false)
        }

        package static func `class`(_ names: String) -> Attribute { Attribute("class", names) }
        package static func id(_ id: String) -> Attribute { Attribute("id", id) }
        package static func lang(_ tag: String) -> Attribute { Attribute("lang", tag) }
        package static func title(_ text: String) -> Attribute { Attribute("title", text) }
        package static func role(_ role: StaticString) -> Attribute { Attribute("role", role.description) }
        /// `data-…`: the name is given whole.
        package static func data(_ name: StaticString, _ value: String) -> Attribute { Attribute(name, value) }
        /// `aria-…`: the name is given whole.
        package static func aria(_ name: StaticString, _ value: String) -> Attribute { Attribute(name, value) }

        package static func href(_ address: String) -> Attribute { Attribute("href", Address.checked(address)) }
        package static func src(_ address: String) -> Attribute { Attribute("src", Address.checked(address)) }
        package static func action(_ address: String) -> Attribute { Attribute("action", Address.checked(address)) }
        package static func srcset(_ address: String, scale: Int) -> Attribute {
            // A comma or a blank would begin another candidate.
            Attribute("srcset", Address.checked(address).filter { $0 != "," && $0 != " " } + " \(scale)x")
        }
        package static func rel(_ value: StaticString) -> Attribute { Attribute("rel", value.description) }

        package static func type(_ type: StaticString) -> Attribute { Attribute("type", type.description) }
        package static func name(_ name: String) -> Attribute { Attribute("name", name) }
        package static func value(_ value: String) -> Attribute { Attribute("value", value) }
        package static func placeholder(_ text: String) -> Attribute { Attribute("placeholder", text) }
        package static func alt(_ text: String) -> Attribute { Attribute("alt", text) }
        package static func width(_ pixels: Int) -> Attribute { Attribute("width", String(pixels)) }
        package static func height(_ pixels: Int) -> Attribute { Attribute("height", String(pixels)) }
        package static func maxlength(_ characters: Int) -> Attribute { Attribute("maxlength", String(characters)) }
        package static func rows(_ lines: Int) -> Attribute { Attribute("rows", String(lines)) }
        package static func `for`(_ id: String) -> Attribute { Attribute("for", id) }
        package static func datetime(_ time: String) -> Attribute { Attribute("datetime", time) }
        package static func content(_ text: String) -> Attribute { Attribute("content", text) }
        package static func autocomplete(_ value: StaticString) -> Attribute {
            Attribute("autocomplete", value.description)
        }
        package static let post = Attribute("method", "post")
        package static let multipart = Attribute("enctype", "multipart/form-data")
        package static let required = Attribute(flag: "required")
        package static let hidden = Attribute(flag: "hidden")
        package static let disabled = Attribute(flag: "disabled")
        package static let autofocus = Attribute(flag: "autofocus")
        package static let lazy = Attribute("loading", "lazy")
    }

    /// Decides whether an address may stand in `href`, `src` or `action`.
    package enum Address {
        /// Where a refused address leads.
        package static let refused = "about:invalid"

        /// The address itself when it is relative or its scheme is `http`, `https` or `mailto`, else `refused`.
        ///
        /// Browsers skip blanks and control bytes in front of a scheme, and tabs and line breaks inside it; so does
        /// this.
        package static func checked(_ address: String) -> String {
            var scheme: [UInt8] = []
            for byte in address.utf8 {
                switch byte {
                case 0...0x20 where scheme.isEmpty: continue
                case 0x09, 0x0A, 0x0D: continue
                case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return address
                case UInt8(ascii: ":"):
                    return allowed.contains(String(decoding: scheme, as: UTF8.self)) ? address : refused
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): scheme.append(byte | 0x20)
                default: scheme.append(byte)
                }
            }
            return address
        }

        private static let allowed: Set<String> = ["http", "https", "mailto"]
    }

    // MARK: Builder

    @resultBuilder
    package enum Builder {
        package static func buildExpression(_ html: HTML) -> HTML { html }
        package static func buildExpression(_ text: String) -> HTML { HTML(text: text) }
        package static func buildBlock() -> HTML { .empty }
        package static func buildBlock(_ piece: HTML) -> HTML { piece }
        package static func buildBlock(_ pieces: HTML...) -> HTML { HTML(pieces) }
        package static func buildOptional(_ piece: HTML?) -> HTML { piece ?? .empty }
        package static func buildEither(first: HTML) -> HTML { first }
        package static func buildEither(second: HTML) -> HTML { second }
        package static func buildArray(_ pieces: [HTML]) -> HTML { HTML(pieces) }
    }
}

// MARK: - Elements

extension HTML {
    package typealias Content = () -> HTML

    private static func make(_ name: StaticString, _ attributes: [Attribute], _ content: Content) -> HTML {
        HTML(.element(name: name.description, attributes: attributes, content: content(), kind: .ordinary))
    }

    private static func makeVoid(_ name: StaticString, _ attributes: [Attribute]) -> HTML {
        HTML(.element(name: name.description, attributes: attributes, content: .empty, kind: .void))
    }

    private static func makeKeepingLineBreaks(_ name: StaticString, _ attributes: [Attribute], _ text: String) -> HTML {
        HTML(
            .element(
                name: name.description, attributes: attributes, content: HTML(text: text), kind: .keepsLineBreaks))
    }

    /// Data for scripts, read with `JSON.parse(document.getElementById(id).textContent)`. `json` must be JSON; it is
    /// escaped so that it cannot end the element.
    package static func scriptData(id: StaticString, json: [UInt8]) -> HTML {
        HTML(.scriptData(id: id.description, json: json))
    }

    /// An ES module from a file. There is no element for inline code.
    package static func moduleScript(_ address: String) -> HTML {
        make("script", [.type("module"), .src(address)]) { .empty }
    }

    package static func html(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("html", attributes, content)
    }
    package static func head(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("head", attributes, content)
    }
    package static func body(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("body", attributes, content)
    }
    package static func header(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("header", attributes, content)
    }
    package static func nav(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("nav", attributes, content)
    }
    package static func main(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("main", attributes, content)
    }
    package static func section(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("section", attributes, content)
    }
    package static func article(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("article", attributes, content)
    }
    package static func aside(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("aside", attributes, content)
    }
    package static func footer(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("footer", attributes, content)
    }
    package static func h1(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("h1", attributes, content)
    }
    package static func h2(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("h2", attributes, content)
    }
    package static func h3(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("h3", attributes, content)
    }
    package static func p(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("p", attributes, content)
    }
    package static func a(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("a", attributes, content)
    }
    package static func ul(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("ul", attributes, content)
    }
    package static func ol(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("ol", attributes, content)
    }
    package static func li(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("li", attributes, content)
    }
    package static func dl(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("dl", attributes, content)
    }
    package static func dt(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("dt", attributes, content)
    }
    package static func dd(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("dd", attributes, content)
    }
    package static func div(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("div", attributes, content)
    }
    package static func span(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("span", attributes, content)
    }
    package static func strong(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("strong", attributes, content)
    }
    package static func small(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("small", attributes, content)
    }
    package static func em(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("em", attributes, content)
    }
    package static func code(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("code", attributes, content)
    }
    package static func time(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("time", attributes, content)
    }
    package static func figure(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("figure", attributes, content)
    }
    package static func figcaption(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("figcaption", attributes, content)
    }
    package static func form(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("form", attributes, content)
    }
    package static func label(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("label", attributes, content)
    }
    package static func button(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("button", attributes, content)
    }
    package static func dialog(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("dialog", attributes, content)
    }
    package static func template(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("template", attributes, content)
    }
    package static func details(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("details", attributes, content)
    }
    package static func summary(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("summary", attributes, content)
    }
    package static func iframe(_ attributes: Attribute..., @Builder content: Content = { .empty }) -> HTML {
        make("iframe", attributes, content)
    }
    package static func title(_ text: String) -> HTML { make("title", []) { HTML(text: text) } }
    package static func meta(_ attributes: Attribute...) -> HTML { makeVoid("meta", attributes) }
    package static func link(_ attributes: Attribute...) -> HTML { makeVoid("link", attributes) }
    package static func img(_ attributes: Attribute...) -> HTML { makeVoid("img", attributes) }
    package static func input(_ attributes: Attribute...) -> HTML { makeVoid("input", attributes) }
    package static func br() -> HTML { makeVoid("br", []) }
    package static func pre(_ attributes: Attribute..., text: String) -> HTML {
        makeKeepingLineBreaks("pre", attributes, text)
    }
    package static func textarea(_ attributes: Attribute..., text: String = "") -> HTML {
        makeKeepingLineBreaks("textarea", attributes, text)
    }

    /// A symbol of an SVG sprite, drawn in the colour of the text around it. Not read aloud: whatever it stands for
    /// is said by a label beside it.
    package static func symbol(_ address: String, _ attributes: Attribute...) -> HTML {
        make("svg", attributes + [.aria("aria-hidden", "true"), Attribute("focusable", "false")]) {
            make("use", [.href(address)]) { .empty }
        }
    }
}
