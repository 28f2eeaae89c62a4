import HTTP2Client
import PushModel
import TestSupport
import Testing

@testable import APNS
@testable import Upstream

struct AnswerTests {
    private func outcome(of exchange: Exchange) -> Outcome {
        // 30 s before Wed, 21 Oct 2026 07:28:00 GMT.
        Answer(exchange, of: APNSService.sample, at: Timestamp(seconds: 1_792_567_650)).outcome
    }

    @Test(arguments: TransportFailure.Kind.allCases)
    func `A failure keeps its name and what it says about repeating`(kind: TransportFailure.Kind) {
        let failure = TransportFailure(kind, "details")
        #expect(outcome(of: .notSent(failure)) == .notSent(TransportCause(rawValue: kind.rawValue)))
        #expect(outcome(of: .unanswered(failure)) == .unknown(TransportCause(rawValue: kind.rawValue)))
    }

    @Test func `200 is accepted, whatever the body`() {
        #expect(outcome(of: answer(200)) == .accepted)
        #expect(outcome(of: answer(200, "surprise")) == .accepted)
    }

    @Test(
        arguments: [
            (400, "BadDeviceToken"), (400, "PayloadEmpty"), (400, "DeviceTokenNotForTopic"),
            (400, "TopicDisallowed"), (413, "PayloadTooLarge"), (405, "MethodNotAllowed"), (410, "ExpiredToken"),
            (400, "AReasonOfNextYear"),
        ])
    func `A refusal for good is rejected with its reason`(status: Int, reason: String) {
        let outcome = self.outcome(of: answer(status, #"{"reason":"\#(reason)"}"#))
        #expect(outcome == .rejected(.apns(status, reason)))
    }

    @Test(
        arguments: [
            (429, "TooManyRequests"), (429, "TooManyProviderTokenUpdates"), (500, "InternalServerError"),
            (503, "ServiceUnavailable"), (503, "Shutdown"), (403, "InvalidProviderToken"), (400, "IdleTimeout"),
            (403, "BadEnvironmentKeyIdInToken"), (403, "BadEnvironmentKeyInToken"), (403, "Forbidden"),
            (500, "AReasonOfNextYear"), (403, "ExpiredProviderToken"),
        ])
    func `A refusal that will pass is throttled with its reason`(status: Int, reason: String) {
        guard case .throttled(let found, _) = outcome(of: answer(status, #"{"reason":"\#(reason)"}"#)) else {
            Issue.record("not throttled")
            return
        }
        #expect(found.reason.rawValue == reason)
    }

    @Test(
        arguments: [
            (#"{"reason":"Unregistered","timestamp":1700000000123}"#, 1_700_000_000_123),
            (#"{"timestamp":1.7e12,"reason":"Unregistered","more":{}}"#, 1_700_000_000_000),
        ])
    func `410 carries when the token died, in milliseconds`(body: String, milliseconds: Int64) {
        #expect(
            outcome(of: answer(410, body))
                == .rejected(.unregistered(since: Timestamp(milliseconds: milliseconds))))
    }

    @Test(arguments: [#"{"reason":"Unregistered","timestamp":"x"}"#, #"{"reason":"Unregistered","timestamp":1e99}"#])
    func `A timestamp that is none is left out`(body: String) {
        #expect(outcome(of: answer(410, body)) == .rejected(.unregistered))
    }

    @Test(arguments: ["", "<html>", "{", "[]", #"{"reason":7}"#, #"{"reason":""}"#, "\u{0}"])
    func `Without a readable reason the status decides`(body: String) {
        guard case .rejected = outcome(of: answer(400, body)) else {
            Issue.record("400 must be rejected")
            return
        }
        #expect(outcome(of: answer(410, body)) == .rejected(.unregistered))
        for status in [429, 500, 502, 503, 504] {
            guard case .throttled = outcome(of: answer(status, body)) else {
                Issue.record("\(status) must be throttled")
                return
            }
        }
    }

    @Test(
        arguments: [
            ("30", Duration.seconds(30)), ("0", .zero), ("86400", .seconds(3600)),
            ("99999999999999999", .seconds(3600)), ("Wed, 21 Oct 2026 07:28:00 GMT", .seconds(30)),
            ("Wednesday, 21-Oct-26 07:28:00 GMT", .seconds(30)), ("Wed Oct 21 07:28:00 2026", .seconds(30)),
            ("Wed, 21 Oct 2026 09:28:00 GMT", .seconds(3600)), ("Tue, 20 Oct 2026 07:28:00 GMT", .zero),
            ("Wed, 21 Oct 2026 24:28:00 GMT", nil), ("Wed, 21 Okt 2026 07:28:00 GMT", nil), ("-1", nil), ("", nil),
        ])
    func `Retry-After is kept in seconds and as a date, up to an hour`(text: String, expected: Duration?) {
        let exchange = answer(
            503, #"{"reason":"ServiceUnavailable"}"#, headers: [HeaderField("retry-after", text)])
        #expect(
            outcome(of: exchange) == .throttled(.serviceUnavailable, after: expected))
    }
}
