package import PushModel
import Signing

/// What push services of browsers answer, with what it means and what it is about (webpush.md §5): the one place that says
/// so.
package enum WebPushReasonTable {
    /// One reason.
    struct Row: Sendable {
        let reason: Reason
        /// The statuses that mean it, unless the body says otherwise.
        let statuses: [Int]
        /// What it means, a sentence for operators.
        let meaning: String
        /// What it is about.
        let scope: Refusal.Scope
        /// How long a push waits at first.
        var firstWait: Duration?

        /// The refusal.
        var refusal: Refusal { Refusal(reason, scope, firstWait: firstWait) }
    }

    /// The table, in the order of the statuses.
    static let rows: [Row] = [
        Row(
            reason: .moved, statuses: [301, 302, 303, 307, 308],
            meaning: "The service names another address; nothing is sent to where an answer points.",
            scope: .push(.address)),
        Row(
            reason: .badRequest, statuses: [400], meaning: "The service does not take the request.",
            scope: .push(.unspecified)),
        Row(
            reason: .unauthorized, statuses: [401], meaning: "The service does not take the VAPID token.",
            scope: .credential),
        Row(
            reason: .forbidden, statuses: [403],
            meaning: "The VAPID token is wrong: subject, origin, time or key.", scope: .credential),
        // Doubtful, not dead: with the wrong key in the configuration all of them look like this.
        Row(
            reason: .keyMismatch, statuses: [],
            meaning: "The browser subscribed with another key than the one that signed.", scope: .addressDoubtful),
        // Google's service answered it in bursts for subscriptions that live: the upstream judges by the share.
        Row(
            reason: .subscriptionUnknown, statuses: [404], meaning: "The service does not know the subscription.",
            scope: .addressDoubtful),
        Row(
            reason: .subscriptionGone, statuses: [410],
            meaning: "The subscription has ended: the user took the permission back, or it expired.",
            scope: .addressDead(since: nil)),
        Row(
            reason: .payloadTooLarge, statuses: [413], meaning: "The body is larger than the service takes.",
            scope: .push(.payloadSize)),
        Row(
            reason: .tooManyRequests, statuses: [406, 429], meaning: "The service slows the sender down.",
            scope: .load(.sender), firstWait: .seconds(60)),
        Row(reason: .serviceFailed, statuses: [500], meaning: "The service failed.", scope: .load(.failure)),
        Row(
            reason: .serviceUnavailable, statuses: [502, 503, 504], meaning: "The service is overloaded or down.",
            scope: .load(.service)),
        Row(
            reason: .nothingToShow, statuses: [],
            meaning: "The push shows nothing, for which Safari ends the page's permission: it was not sent.",
            scope: .push(.payload)),
        Row(
            reason: .timeToLiveOver, statuses: [],
            meaning: "The TTL of the message's webpush block is over: it was not sent.", scope: .push(.timeToLive)),
        Row(
            reason: .serviceNotAllowed, statuses: [],
            meaning: "The endpoint is of no push service that the project allows: it was not sent.",
            scope: .push(.address)),
        Row(
            reason: .notEncrypted, statuses: [],
            meaning: "The push can't be encrypted for the browser's key: it was not sent.", scope: .push(.address)),
        // Doubtful, not dead: the key may come back into the configuration.
        Row(
            reason: .keyUnknown, statuses: [],
            meaning: "The browser subscribed with a key that the app does not have: it was not sent.",
            scope: .addressDoubtful),
    ]

    /// The table's reasons by their words.
    package static let catalog = RefusalCatalog(
        rows.map { RefusalCatalog.Entry($0.refusal, meaning: $0.meaning) })

    /// Why a push is not sent that can't be encrypted.
    static func refusal(encrypting error: SigningError) -> Refusal {
        error.code == .tooLong
            ? Refusal(.payloadTooLarge, .push(.payloadSize)) : Refusal(.notEncrypted, .push(.address))
    }

    private static let byStatus: [Int: Row] = Dictionary(
        rows.flatMap { row in row.statuses.map { ($0, row) } }, uniquingKeysWith: { first, _ in first })

    /// Reads an answer that does not accept its push.
    ///
    /// - Parameter isOfOne: whether an answer that slows down, and names no subscription, counts for its own alone.
    static func refusal(status: Int, body: [UInt8], isOfOne: () -> Bool) -> Refusal {
        let text = AnswerText(body)
        if let reason = text.reason(status: status), let row = rows.first(where: { $0.reason == reason }) {
            return row.refusal
        }
        if let row = byStatus[status] {
            // Asked first: it counts.
            guard row.scope == .load(.sender), isOfOne() || text.namesSubscription else { return row.refusal }
            return Refusal(row.reason, .load(.address), firstWait: row.firstWait)
        }
        let scope: Refusal.Scope =
            switch status {
            case 400...499: .push(.unspecified)
            case 500...: .load(.failure)
            default: .connection(.misdirected)
            }
        return Refusal(Reason(rawValue: "HTTP\(status)"), scope, label: Refusal.unknownLabel)
    }
}
