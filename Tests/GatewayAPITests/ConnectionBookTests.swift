import Testing

@testable import GatewayAPI

/// Which connection gets a place, and which has to go.
struct ConnectionBookTests {
    private func book(total: Int, perAddress: Int? = nil) -> ConnectionBook<Int> {
        ConnectionBook(ConnectionLimits(total: total, perAddress: perAddress))
    }

    @Test func theOneThatHasBeenSilentTheLongestMakesRoom() {
        var book = book(total: 3)
        for id in 1...3 { #expect(book.admit(id, from: "192.0.2.1") == .admitted) }
        book.noteRequest(on: 1)
        #expect(book.admit(4, from: "192.0.2.2") == .inPlaceOf(2))
        #expect(book.admit(5, from: nil) == .inPlaceOf(3))
        #expect(book.count == 3)
        for id in [4, 5] { book.noteRequest(on: id) }
        #expect(book.admit(6, from: "192.0.2.3") == .refused(.total))
        book.remove(1)
        #expect(book.admit(7, from: "192.0.2.3") == .admitted)
    }

    @Test func anAddressAtItsLimitTakesNoPlaceFromAnother() {
        var book = book(total: 10, perAddress: 2)
        #expect(book.admit(1, from: "192.0.2.9") == .admitted)
        for id in 2...3 { #expect(book.admit(id, from: "192.0.2.1") == .admitted) }
        #expect(book.admit(4, from: "192.0.2.1") == .inPlaceOf(2))
        for id in [3, 4] { book.noteRequest(on: id) }
        #expect(book.admit(5, from: "192.0.2.1") == .refused(.address))
        #expect(book.count == 3)
        book.remove(3)
        #expect(book.admit(6, from: "192.0.2.1") == .admitted)
        // A network of IPv6 is one address.
        for id in 7...8 { #expect(book.admit(id, from: ClientAddress("2001:db8::\(id)")) == .admitted) }
        #expect(book.admit(9, from: "2001:db8::9") == .inPlaceOf(7))
    }

    @Test func anIdentityThatComesAgainIsAnotherConnection() {
        var book = book(total: 2)
        for id in 1...2 { #expect(book.admit(id, from: nil) == .admitted) }
        book.remove(1)
        #expect(book.admit(1, from: nil) == .admitted)
        #expect(book.admit(3, from: nil) == .inPlaceOf(2))
        #expect(book.admit(4, from: nil) == .inPlaceOf(1))
    }

    @Test func connectionsThatAreGoneLeaveNothingBehind() {
        var book = book(total: 100, perAddress: 10)
        for id in 0..<100_000 {
            _ = book.admit(id, from: ClientAddress("192.0.2.\(id % 50)"))
            if id % 3 == 0 { book.noteRequest(on: id) }
            if id >= 20 { book.remove(id - 20) }
        }
        #expect(book.count <= 20)
        #expect(book.remembered <= 2000)
    }
}
