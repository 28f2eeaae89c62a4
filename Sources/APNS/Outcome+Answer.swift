import PushModel

extension Outcome {
    init(status: Int, reason: String?, timestamp: Timestamp?, retryAfter: Duration?) {
        let reason = APNSReason(rawValue: reason ?? "Status\(status)")
        switch status {
        case 200: self = .accepted
        case 403 where reason.rawValue == "ExpiredProviderToken":
            self = .throttled(reason, after: retryAfter ?? .seconds(1))
        case 403, 429, 500...: self = .throttled(reason, after: retryAfter)
        default: self = .rejected(reason, since: status == 410 ? timestamp : nil)
        }
    }
    var reason: APNSReason? {
        switch self {
        case .rejected(let reason, _), .throttled(let reason, _): reason
        default: nil
        }
    }
}
