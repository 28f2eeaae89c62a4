import JSON
import PushModel

/// The body of a refusal where it says more than the status. Mozilla's is JSON with `errno`, Apple's JSON with `reason`,
/// Google's text or HTML (webpush.md §5).
struct AnswerText {
    private let text: String
    private let errno: Int?

    /// So many bytes are looked at.
    private static let limit = 4096

    init(_ body: [UInt8]) {
        text = String(decoding: body.prefix(Self.limit), as: UTF8.self).lowercased()
        var errno: Int?
        // Of a body that is no JSON the text alone counts.
        if let value = try? JSONValue(parsing: Array(body.prefix(Self.limit))),
            case .number(let digits)? = value["errno"]
        {
            errno = Int(digits)
        }
        self.errno = errno
    }

    /// The reason that it gives; `nil`: the status says all.
    func reason(status: Int) -> Reason? {
        switch (status, errno) {
        // 102: the address is none of Mozilla's; 103: the subscription expired; 105, 106: it is gone.
        case (404, 102?), (404, 103?), (410, 103?), (404, 105?), (410, 105?), (404, 106?), (410, 106?):
            return .subscriptionGone
        default: break
        }
        guard status == 400 || status == 401 || status == 403 else { return nil }
        if Self.mismatches.contains(where: text.contains) { return .keyMismatch }
        // Google's, which passed after a day.
        return text.contains("invalid push subscription endpoint") ? .subscriptionUnknown : nil
    }

    /// Whether it speaks of the subscription, and not of the sender.
    var namesSubscription: Bool { Self.subscriptions.contains(where: text.contains) }

    private static let subscriptions = ["subscription", "endpoint", "device", "channel"]

    /// What services write when a subscription is of another key than the token: Apple, Google twice, Mozilla.
    private static let mismatches = [
        "vapidpkhashmismatch", "do not correspond", "unauthorizedregistration", "public key mismatch",
    ]
}
