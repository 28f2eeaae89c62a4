import Testing

@testable import HTTPListener

/// Which connection gets a place, and which has to go.
struct ConnectionBookTests {
    private func book(total: Int, perAddress: Int? = nil) -> ConnectionBook<Int> {
        ConnectionBook(ConnectionLimits(total: total, perAddress: perAddress))
    }

    @Test func theOneThatHasBeenIdleTheLongestMakesRoom() {
        var book = book(total: 3)
        for id in 1...3 { #expect(book.admit(id, from: "192.0.2.1") == .admitted) }
        book.beginRequest(on: 1)
        #expect(book.admit(4, from: "192.0.2.2") == .inPlaceOf(2))
        // It was asked something, and has been idle since: not for as long as the third.
        book.endRequest(on: 1)
        #expect(book.admit(5, from: nil) == .inPlaceOf(3))
        #expect(book.admit(6, from: nil) == .inPlaceOf(4))
        #expect(book.admit(7, from: nil) == .inPlaceOf(1))
        #expect(book.count == 3)
    }

    @Test func requestsWithoutAProofKeepNoPlaceEither() {
        var book = book(total: 2)
        // Two that asked once and stay, as an attacker without any credential has them.
        for id in 1...2 {
            #expect(book.admit(id, from: "192.0.2.1") == .admitted)
            book.beginRequest(on: id)
            book.endRequest(on: id)
        }
        #expect(book.admit(3, from: "192.0.2.9") == .inPlaceOf(1))
        // And two whose requests do not end.
        for id in [2, 3] { book.beginRequest(on: id) }
        #expect(book.admit(4, from: "192.0.2.9") == .inPlaceOf(2))
    }

    @Test func backendsGoLastAndNeverDuringARequest() {
        var book = book(total: 3)
        for id in 1...3 { #expect(book.admit(id, from: nil) == .admitted) }
        for id in 1...2 {
            book.beginRequest(on: id)
            book.prove(id)
        }
        book.endRequest(on: 1)
        #expect(book.admit(4, from: nil) == .inPlaceOf(3))
        book.beginRequest(on: 4)
        // Idle before busy, also when it has proven itself: it only has to connect again.
        #expect(book.admit(5, from: nil) == .inPlaceOf(1))
        book.beginRequest(on: 5)
        #expect(book.admit(6, from: nil) == .inPlaceOf(4))
        for id in [5, 6] {
            book.beginRequest(on: id)
            book.prove(id)
        }
        #expect(book.admit(7, from: nil) == .refused(.total))
        book.remove(5)
        #expect(book.admit(7, from: nil) == .admitted)
    }

    @Test func anAddressAtItsLimitTakesNoPlaceFromAnother() {
        var book = book(total: 10, perAddress: 2)
        #expect(book.admit(1, from: "192.0.2.9") == .admitted)
        for id in 2...3 { #expect(book.admit(id, from: "192.0.2.1") == .admitted) }
        #expect(book.admit(4, from: "192.0.2.1") == .inPlaceOf(2))
        for id in [3, 4] {
            book.beginRequest(on: id)
            book.prove(id)
        }
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
        let isThere = book.beginRequest(on: 1)
        #expect(!isThere)
    }

    @Test func anIdleOneIsSeenAtTheSecondLookAndABackendsNotAtAll() {
        var book = book(total: 9)
        for id in 1...3 { #expect(book.admit(id, from: nil) == .admitted) }
        book.prove(3)
        #expect(book.isIdleSinceLastLook(1) == false && book.isIdleSinceLastLook(2) == false)
        #expect(book.isIdleSinceLastLook(3) == nil && book.isIdleSinceLastLook(4) == nil)
        book.beginRequest(on: 2)
        #expect(book.isIdleSinceLastLook(1) == true && book.isIdleSinceLastLook(2) == false)
        #expect(book.isIdleSinceLastLook(2) == false, "its request is under way")
        book.endRequest(on: 2)
        #expect(book.isIdleSinceLastLook(2) == false)
        #expect(book.isIdleSinceLastLook(2) == true)
    }

    @Test func connectionsThatAreGoneLeaveNothingBehind() {
        var book = book(total: 100, perAddress: 10)
        for id in 0..<100_000 {
            _ = book.admit(id, from: ClientAddress("192.0.2.\(id % 50)"))
            if id % 3 == 0 { book.beginRequest(on: id) }
            if id % 2 == 0 { book.endRequest(on: id) }
            if id % 7 == 0 { book.prove(id) }
            if id >= 20 { book.remove(id - 20) }
        }
        #expect(book.count <= 20)
        #expect(book.remembered <= 4000)
        for _ in 0..<100_000 {
            book.beginRequest(on: 99_999)
            book.endRequest(on: 99_999)
        }
        #expect(book.remembered <= 4000)
    }
}
