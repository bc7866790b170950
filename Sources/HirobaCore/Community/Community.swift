/// Topics and what people say to them.
package struct Community: Sendable {
    let desk: Desk
    let files: Files
}
