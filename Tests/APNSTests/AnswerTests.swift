import HTTP2Client
import PushModel
import Testing

@testable import APNS

struct AnswerTests {
    @Test(arguments: TransportFailure.Kind.allCases)
    func `A failure keeps its name and what it says about repeating`(kind: TransportFailure.Kind) {
        let failure = TransportFailure(kind, "details")
        #expect(Answer(.notSent(failure)).outcome == .notSent(TransportCause(rawValue: kind.rawValue)))
        #expect(Answer(.unanswered(failure)).outcome == .unknown(TransportCause(rawValue: kind.rawValue)))
    }

    @Test func `200 is accepted, whatever the body`() {
        #expect(Answer(answer(200)).outcome == .accepted)
        #expect(Answer(answer(200, "surprise")).outcome == .accepted)
    }

    @Test(
        arguments: [
            (400, "BadDeviceToken"), (400, "PayloadEmpty"), (400, "DeviceTokenNotForTopic"),
            (400, "TopicDisallowed"), (413, "PayloadTooLarge"), (405, "MethodNotAllowed"), (410, "ExpiredToken"),
            (400, "AReasonOfNextYear"),
        ])
    func `A refusal for good is rejected with its reason`(status: Int, reason: String) {
        let outcome = Answer(answer(status, #"{"reason":"\#(reason)"}"#)).outcome
        #expect(outcome == .rejected(APNSReason(rawValue: reason), since: nil))
    }

    @Test(
        arguments: [
            (429, "TooManyRequests"), (429, "TooManyProviderTokenUpdates"), (500, "InternalServerError"),
            (503, "ServiceUnavailable"), (503, "Shutdown"), (403, "InvalidProviderToken"), (400, "IdleTimeout"),
            (403, "BadEnvironmentKeyIdInToken"), (403, "BadEnvironmentKeyInToken"), (403, "Forbidden"),
            (500, "AReasonOfNextYear"), (403, "ExpiredProviderToken"),
        ])
    func `A refusal that will pass is throttled with its reason`(status: Int, reason: String) {
        guard case .throttled(let found, _) = Answer(answer(status, #"{"reason":"\#(reason)"}"#)).outcome else {
            Issue.record("not throttled")
            return
        }
        #expect(found.rawValue == reason)
    }

    @Test(
        arguments: [
            (#"{"reason":"Unregistered","timestamp":1700000000123}"#, 1_700_000_000_123),
            (#"{"timestamp":1.7e12,"reason":"Unregistered","more":{}}"#, 1_700_000_000_000),
        ])
    func `410 carries when the token died, in milliseconds`(body: String, milliseconds: Int64) {
        #expect(
            Answer(answer(410, body)).outcome
                == .rejected(APNSReason(rawValue: "Unregistered"), since: Timestamp(milliseconds: milliseconds)))
    }

    @Test(arguments: [#"{"reason":"Unregistered","timestamp":"x"}"#, #"{"reason":"Unregistered","timestamp":1e99}"#])
    func `A timestamp that is none is left out`(body: String) {
        #expect(Answer(answer(410, body)).outcome == .rejected(APNSReason(rawValue: "Unregistered"), since: nil))
    }

    @Test(arguments: ["", "<html>", "{", "[]", #"{"reason":7}"#, #"{"reason":""}"#, "\u{0}"])
    func `Without a readable reason the status decides`(body: String) {
        guard case .rejected = Answer(answer(400, body)).outcome else {
            Issue.record("400 must be rejected")
            return
        }
        guard case .rejected(_, since: nil) = Answer(answer(410, body)).outcome else {
            Issue.record("410 must be rejected")
            return
        }
        for status in [429, 500, 502, 503, 504] {
            guard case .throttled = Answer(answer(status, body)).outcome else {
                Issue.record("\(status) must be throttled")
                return
            }
        }
    }

    @Test(
        arguments: [
            ("30", Duration.seconds(30)), ("0", .zero), ("86400", .seconds(3600)),
            ("99999999999999999", .seconds(3600)), ("Wed, 21 Oct 2026 07:28:00 GMT", nil), ("-1", nil), ("", nil),
        ])
    func `Retry-After in seconds is kept, up to an hour`(text: String, expected: Duration?) {
        let exchange = answer(
            503, #"{"reason":"ServiceUnavailable"}"#, headers: [HeaderField("retry-after", text)])
        #expect(
            Answer(exchange).outcome == .throttled(APNSReason(rawValue: "ServiceUnavailable"), after: expected))
    }
}
