import PushModel
import TestSupport
import Testing

@testable import Upstream

/// Whom an answer that slows the sender down is about.
struct SlowedAddressTests {
    private static func address(_ number: Int) -> Address { .android(AndroidToken(rawValue: "device-\(number):x")!) }

    @Test func oneAddressAloneIsNotTheSender() {
        var slowed = SlowedAddresses()
        let answers = [0, 1, 30, 200].map { slowed.isOfSender(Self.address(1), at: .seconds($0)) }
        #expect(answers == [false, false, false, false])
    }

    @Test(arguments: [(0, true), (59, true), (60, false)])
    func twoWithinAMinuteAre(seconds: Int, isOfSender: Bool) {
        var slowed = SlowedAddresses()
        let first = slowed.isOfSender(Self.address(1), at: .seconds(100))
        let second = slowed.isOfSender(Self.address(2), at: .seconds(100 + seconds))
        let third = slowed.isOfSender(Self.address(1), at: .seconds(101 + seconds))
        #expect([first, second, third] == [false, isOfSender, true])
    }
}
