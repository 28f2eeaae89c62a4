import PushModel
import Testing

@testable import Upstream

@Suite("An address that a service does not know is dead when few are, or after an hour")
struct UnknownAddressTests {
    private static let address = Address.android(AndroidToken(rawValue: "device-0001:APA91bExample")!)

    @Test("One answer is enough where fewer than 5 of 100 get it", arguments: [(4, true), (5, false)])
    func few(unknown: Int, isDead: Bool) {
        var addresses = UnknownAddresses()
        addresses.count(answers: 100, unknown: unknown, at: .zero)
        let found = addresses.isDead(Self.address, at: .zero)
        #expect(found == isDead)
    }

    @Test("Otherwise the second answer after an hour counts", arguments: [(3599, false), (3600, true)])
    func hour(seconds: Int, isDead: Bool) {
        var addresses = UnknownAddresses()
        addresses.count(answers: 1, unknown: 1, at: .zero)
        let first = addresses.isDead(Self.address, at: .zero)
        let later = Duration.seconds(seconds)
        addresses.count(answers: 1, unknown: 1, at: later)
        let second = addresses.isDead(Self.address, at: later)
        #expect(!first && second == isDead)
    }

    @Test("An address that was accepted in between is known again")
    func accepted() {
        var addresses = UnknownAddresses()
        addresses.count(answers: 1, unknown: 1, at: .zero)
        let first = addresses.isDead(Self.address, at: .zero)
        #expect(!first && !addresses.isEmpty)
        addresses.accepted(Self.address)
        #expect(addresses.isEmpty)
        addresses.count(answers: 1, unknown: 1, at: .seconds(4000))
        let second = addresses.isDead(Self.address, at: .seconds(4000))
        #expect(!second)
    }

    @Test(
        "A service that knows half of its addresses is broken, however often it says so",
        arguments: [(10, false), (9, true)])
    func broken(unknown: Int, isDead: Bool) {
        var addresses = UnknownAddresses()
        for time in [Duration.zero, .seconds(4000)] {
            addresses.count(answers: 20, unknown: unknown, at: time)
            let found = addresses.isDead(Self.address, at: time)
            #expect(found == (isDead && time > .zero))
        }
    }

    @Test("Answers of more than an hour ago do not count")
    func window() {
        var addresses = UnknownAddresses()
        addresses.count(answers: 100, unknown: 0, at: .zero)
        addresses.count(answers: 1, unknown: 1, at: .seconds(3900))
        let found = addresses.isDead(Self.address, at: .seconds(3900))
        #expect(!found)
    }
}
