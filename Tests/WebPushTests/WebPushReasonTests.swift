import PushModel
import Testing

@testable import WebPush

/// What push services of browsers answer, and what is done about it (webpush.md §5).
struct WebPushReasonTests {
    @Test(arguments: [
        (301, "", "Moved", Refusal.Scope.push(.address)), (400, "", "BadRequest", .push(.unspecified)),
        (400, #"{"reason":"VapidPkHashMismatch"}"#, "KeyMismatch", .addressDoubtful),
        (400, "<h1>UnauthorizedRegistration</h1>", "KeyMismatch", .addressDoubtful),
        (
            401, #"{"code":401,"errno":109,"error":"Unauthorized","message":"VAPID public key mismatch"}"#,
            "KeyMismatch", .addressDoubtful
        ),
        (401, "invalid push subscription endpoint.", "SubscriptionUnknown", .addressDoubtful),
        (503, #"{"code":503,"errno":105}"#, "ServiceUnavailable", .load(.service)),
        (401, #"{"code":401,"errno":106}"#, "Unauthorized", .credential),
        (400, #"{"reason":"BadTtl"}"#, "BadRequest", .push(.unspecified)),
        (401, #"{"code":401,"errno":109,"error":"Unauthorized"}"#, "Unauthorized", .credential),
        (403, #"{"reason":"BadJwtToken"}"#, "Forbidden", .credential),
        (
            403,
            "the VAPID credentials in the authorization header do not correspond to the credentials used to create",
            "KeyMismatch", .addressDoubtful
        ),
        (404, "", "SubscriptionUnknown", .addressDoubtful),
        (404, #"{"code":404,"errno":102}"#, "SubscriptionGone", .addressDead(since: nil)),
        (406, "", "TooManyRequests", .load(.sender)), (410, "", "SubscriptionGone", .addressDead(since: nil)),
        (410, "push subscription has unsubscribed or expired.", "SubscriptionGone", .addressDead(since: nil)),
        (413, #"{"errno":104}"#, "PayloadTooLarge", .push(.payloadSize)),
        (429, "", "TooManyRequests", .load(.sender)),
        (429, "Too many messages for this subscription.", "TooManyRequests", .load(.address)),
        (500, "", "ServiceFailed", .load(.failure)),
        (502, "<html>", "ServiceUnavailable", .load(.service)), (503, "", "ServiceUnavailable", .load(.service)),
        (418, "", "HTTP418", .push(.unspecified)), (599, "", "HTTP599", .load(.failure)),
        (200, "", "HTTP200", .connection(.misdirected)),
    ])
    func anAnswerHasAReasonAndAScope(status: Int, body: String, reason: String, scope: Refusal.Scope) {
        let refusal = WebPushReasonTable.refusal(status: status, body: Array(body.utf8), isOfOne: { false })
        #expect(refusal.reason.rawValue == reason)
        #expect(refusal.scope == scope)
    }

    @Test func everyReasonHasAMeaningAndNoStatusTwo() {
        let statuses = WebPushReasonTable.rows.flatMap(\.statuses)
        #expect(Set(statuses).count == statuses.count)
        for row in WebPushReasonTable.rows {
            #expect(WebPushReasonTable.catalog[row.reason]?.meaning == row.meaning)
        }
    }
}
