import Foundation
import PushModel
import Store
import TestSupport
import Testing

/// The packed form of events gives back what was packed, and other bytes are refused.
@Suite(.timeLimit(.minutes(1)))
struct EventBodyTests {
    private static let bodies: [EventBody] = [
        .accepted(messages: [1]), .accepted(messages: [5, 6, .max]),
        .settled(EventBody.Settled(complete: [7])),
        .settled(EventBody.Settled(blocks: 8...8, deliveries: 2000)),
        .settled(EventBody.Settled(blocks: 8...(1 << 40), deliveries: 3, unregistered: [2, 9], complete: [1, 4])),
        .controlled(message: 3, .paused), .controlled(message: .max, .cancelled),
        .registrationEnded(key: 12, .deleted), .registrationEnded(key: 1 << 33, .superseded),
        .route(4, isPaused: true), .route(4, isPaused: false), .route(4, isPaused: true, isOfCredential: true),
        .route(4, isPaused: false, isOfCredential: true), .progress(messages: [3, 9]),
        .receipts([
            EventBody.Receipt(message: 4, key: 1 << 40, kind: .dismissed, time: 1_767_323_045_678),
            EventBody.Receipt(message: 5, key: 1, kind: .received, time: -1),
        ]),
        .clicks([
            EventBody.Click(app: AppKey(.android, AppID(rawValue: "a.b")!), link: 7, invitation: .random()),
            EventBody.Click(app: AppKey(.apple, AppID(rawValue: "c")!), link: 0, invitation: nil),
        ]),
        .webhook(WebhookNotice(endpoint: .random(), percent: 90)),
        .webhook(WebhookNotice(endpoint: .random(), percent: 100, isGone: true)),
        .referral(ReferralStep(invitation: .random(), state: .invited)),
        .referral(ReferralStep(invitation: .random(), referral: .random(), state: .firstOpen)),
        .referral(ReferralStep(invitation: .random(), referral: .random(), state: .rejected, rejection: .velocity)),
    ]

    @Test(arguments: bodies)
    func whatIsPackedComesBack(body: EventBody) throws {
        #expect(try EventBody(decoding: body.data) == body)
        #expect(body.count > 0)
    }

    @Test(arguments: bodies)
    func aPartOfTheBytesOrMoreOfThemIsRefused(body: EventBody) {
        let data = body.data
        for count in 0..<data.count {
            #expect(throws: PackedReader.Damage.self) { try EventBody(decoding: Array(data.prefix(count))) }
        }
        #expect(throws: PackedReader.Damage.self) { try EventBody(decoding: data + [0]) }
    }

    /// A page of a broadcast is one row of a few bytes, whatever its size.
    @Test func aStepOfThousandsOfDeliveriesTakesAFewBytes() {
        let settled = EventBody.Settled(blocks: 1_000_000...1_000_002, deliveries: 5000)
        #expect(EventBody.settled(settled).data.count <= 12)
    }

    @Test func bytesAtRandomNeverTrap() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...9, using: &random)
            }
            _ = try? EventBody(decoding: bytes)
        }
    }
}
