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
        // 103: the subscription expired; 105, 106: it is gone.
        case (_, 103?), (_, 105?), (_, 106?): return .subscriptionGone
        // 102: the address is none of Mozilla's.
        case (404, 102?): return .subscriptionGone
        default: break
        }
        guard status == 400 || status == 401 || status == 403 else { return nil }
        let isMismatch =
            text.contains("vapidpkhashmismatch") || text.contains("do not correspond")
            || text.contains("unauthorizedregistration")
        return isMismatch ? .keyMismatch : nil
    }
}
