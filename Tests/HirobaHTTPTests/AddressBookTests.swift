import Testing

@testable import HirobaHTTP

@Suite struct AddressBookTests {
    private func book(all: Int, perAddress: Int) -> AddressBook {
        var limits = HTTPLimits()
        limits.connections = all
        limits.connectionsPerAddress = perAddress
        return AddressBook(limits: limits)
    }

    @Test("a network over its share is refused while others are welcome, and room comes back")
    func perNetwork() {
        let book = book(all: 10, perAddress: 2)
        #expect(book.admit("a") == .welcome)
        #expect(book.admit("a") == .welcome)
        #expect(book.admit("a") == .refused)
        #expect(book.admit("b") == .welcome)
        book.leave("a", wasRefused: true)
        #expect(book.admit("a") == .refused)
        book.leave("a", wasRefused: false)
        #expect(book.admit("a") == .welcome)
    }

    @Test("only so many are told that they are refused")
    func ignored() {
        let book = book(all: 1, perAddress: 10)
        #expect(book.admit("a") == .welcome)
        for _ in 0..<64 { #expect(book.admit("b") == .refused) }
        #expect(book.admit("c") == .ignored)
        book.leave("b", wasRefused: true)
        #expect(book.admit("c") == .refused)
    }

    @Test("an IPv6 customer counts as one, whatever the last half of his addresses")
    func networks() {
        let prefix: [UInt8] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 7]
        func network(_ last: UInt8) -> String {
            AddressBook.network(
                of: SocketAddress(ip: "2001:db8:0:7::\(last)", port: 1), bytes: prefix + [0, 0, 0, 0, 0, 0, 0, last])
        }
        #expect(network(1) == network(2))
        #expect(AddressBook.network(of: SocketAddress(ip: "192.0.2.1", port: 1), bytes: [192, 0, 2, 1]) == "192.0.2.1")
    }
}
