import PushModel
import TestSupport
import Testing

@testable import WebPush

/// Whatever comes back, there is a refusal, and only what the table says ends a subscription or refuses the key.
struct WebPushAnswerFuzzTests {
    private static let bodies = [
        #"{"code":404,"errno":102,"error":"Not Found","message":"No such subscription"}"#, #"{"errno":1e400}"#,
        #"{"code":410,"errno":106}"#, #"{"reason":"VapidPkHashMismatch"}"#, #"{"reason":"BadJwtToken","errno":"103"}"#,
        "<html><title>push subscription has unsubscribed or expired.</title></html>", "[[[[[[[[[[[[[[[[]]]]",
        "the VAPID credentials do not correspond to the credentials", "invalid push subscription endpoint", "",
    ].map { Array($0.utf8) }
    private static let statuses = [
        100, 300, 301, 307, 400, 401, 403, 404, 406, 410, 413, 418, 429, 500, 502, 503, 504, 599, 999,
    ]

    private static func damaged(_ random: inout SeededRandom) -> [UInt8] {
        var body = bodies.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 0...4, using: &random) where !body.isEmpty {
            let place = Int.random(in: 0..<body.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: body[place] = UInt8.random(in: 0...255, using: &random)
            case 1: body.removeSubrange(place...)
            case 2: body.insert(contentsOf: bodies.randomElement(using: &random) ?? [], at: place)
            default: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        }
        // Longer than what is looked at, and deeper than a parser likes.
        if Int.random(in: 0..<100, using: &random) == 0 { body = [UInt8](repeating: 0x5B, count: 10_000) + body }
        return body
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func anyAnswerIsRead(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for input in 0..<2500 {
            let status = Self.statuses.randomElement(using: &random) ?? 0
            let body = Self.damaged(&random)
            let refusal = WebPushReasonTable.refusal(
                status: status, body: body, isOfOne: { Bool.random(using: &random) })
            switch refusal.scope {
            case .addressDead: #expect(status == 404 || status == 410, "seed \(seed), input \(input)")
            case .addressDoubtful: #expect([400, 401, 403, 404].contains(status), "seed \(seed), input \(input)")
            case .credential: #expect(status == 401 || status == 403, "seed \(seed), input \(input)")
            case .load(.address), .load(.sender):
                #expect(status == 406 || status == 429, "seed \(seed), input \(input)")
            case .load(.service), .load(.failure): #expect(status >= 500, "seed \(seed), input \(input)")
            case .push: #expect((300..<500).contains(status), "seed \(seed), input \(input)")
            case .connection: #expect(status < 400, "seed \(seed), input \(input)")
            case .topic, .load(.unspecified): Issue.record("\(refusal); seed \(seed), input \(input)")
            }
        }
    }
}
