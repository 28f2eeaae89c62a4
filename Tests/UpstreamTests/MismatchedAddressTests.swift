import PushModel
import Testing

@testable import Upstream

@Suite("An address that belongs to another credential is at fault where others of the credential are accepted")
struct MismatchedAddressTests {
    private static let limits = MismatchLimits(reason: "Mismatch", confirmations: 2, withoutAcceptance: 3, share: 0.2)
    private static let address = Address.android(AndroidToken(rawValue: "device-0001:APA91bExample")!)

    @Test("Without an acceptance the credential is at fault, from a few on", arguments: [(2, false), (3, true)])
    func none(mismatched: Int, isOfCredential: Bool) {
        var addresses = MismatchedAddresses()
        addresses.count(accepted: 0, mismatched: mismatched, at: .zero)
        let verdict = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(verdict == (isOfCredential ? .credential : .push))
    }

    @Test("Above a share of the answers the credential is at fault", arguments: [(80, 20, false), (80, 21, true)])
    func share(accepted: Int, mismatched: Int, isOfCredential: Bool) {
        var addresses = MismatchedAddresses()
        addresses.count(accepted: accepted, mismatched: mismatched, at: .zero)
        let verdict = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(verdict == (isOfCredential ? .credential : .push))
    }

    @Test("Few answers have no share")
    func few() {
        var addresses = MismatchedAddresses()
        addresses.count(accepted: 1, mismatched: 18, at: .zero)
        let first = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(first == .push)
        let second = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(second == .address)
    }

    @Test("An acceptance in between makes the next answer the first")
    func accepted() {
        var addresses = MismatchedAddresses()
        addresses.count(accepted: 10, mismatched: 1, at: .zero)
        let first = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(first == .push)
        #expect(!addresses.isEmpty)
        addresses.accepted(Self.address)
        #expect(addresses.isEmpty)
        let second = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(second == .push)
    }

    @Test("Acceptances of more than an hour ago show nothing")
    func hour() {
        var addresses = MismatchedAddresses()
        addresses.count(accepted: 100, mismatched: 0, at: .zero)
        addresses.count(accepted: 0, mismatched: 3, at: .seconds(3600))
        let verdict = addresses.verdict(on: Self.address, by: Self.limits)
        #expect(verdict == .credential)
    }
}
