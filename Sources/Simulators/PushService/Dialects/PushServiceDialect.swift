import Foundation
import NIOHTTP1

/// Whose push service is played: how they deviate from the RFCs and each other (webpush.md §6), and how they say no.
package enum PushServiceDialect: String, Sendable, CaseIterable {
    /// Firefox's: JSON with `errno`.
    case mozilla
    /// Chrome's: text, tokens in the path.
    case google
    /// Safari's: JSON with `reason`; reads `Topic` as base64url.
    case apple
    /// Edge's on Windows: the token in the query, no `TTL: 0`, `x-wns-…` fields.
    case windows

    /// The longest time to live that is granted, in seconds: thirty days, at Google's 28.
    var longestTimeToLive: Int { self == .google ? 28 * 86_400 : 30 * 86_400 }

    /// The most bytes of a body: what each service must take (RFC 8030 §7.2). For Firefox on Android the push goes on as
    /// base64 by another service, which takes less.
    func bodyLimitBytes(isBridged: Bool) -> Int { isBridged && self == .mozilla ? 2744 : 4096 }

    /// Path and query of a subscription's endpoint.
    func path(of id: String) -> String {
        switch self {
        case .mozilla: "/push/\(id)"
        case .google: "/fcm/send/\(id)"
        case .apple: "/\(id)"
        case .windows: "/w/?token=\(id)"
        }
    }

    /// The subscription of a path with its query; empty: it has none.
    func subscription(of path: String) -> String {
        let prefix = self.path(of: "")
        return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : ""
    }

    /// Why the service does not take a time to live that is a number; `nil`: it does.
    func problem(withTimeToLive seconds: Int) -> String? {
        self == .windows && seconds == 0 ? "TTL must be greater than 0" : nil
    }

    /// Why the service does not take a topic that the RFC allows; `nil`: it does.
    func problem(withTopic topic: String) -> String? {
        // One observer saw only whole groups of four pass: this is as strict.
        self == .apple && !topic.utf8.count.isMultiple(of: 4) ? "Topic must be base64url of whole bytes" : nil
    }

    /// The answer that accepts.
    ///
    /// - Parameter location: where the message is.
    func accepted(location: String, seconds: Int) -> WebPushAnswer {
        var answer = WebPushAnswer(status: 201)
        answer.headers.add(name: "location", value: location)
        answer.headers.add(name: "ttl", value: "\(min(seconds, longestTimeToLive))")
        switch self {
        case .mozilla, .google: break
        case .apple: answer.headers.add(name: "apns-id", value: UUID().uuidString)
        case .windows:
            answer.headers.add(name: "x-wns-status", value: "received")
            answer.headers.add(name: "x-wns-notificationstatus", value: "received")
        }
        return answer
    }

    /// The answer that refuses.
    func answer(to refusal: PushServiceRefusal) -> WebPushAnswer {
        switch self {
        case .mozilla: mozilla(refusal)
        case .google: google(refusal)
        case .apple: apple(refusal)
        case .windows: windows(refusal)
        }
    }

    // MARK: Their words

    private func mozilla(_ refusal: PushServiceRefusal) -> WebPushAnswer {
        let (status, errno): (Int, Int) =
            switch refusal.cause {
            case .method: (405, 999)
            case .unknownSubscription: (404, 102)
            case .endedSubscription: (410, 106)
            case .missingTimeToLive: (400, 111)
            case .timeToLive: (400, 112)
            case .urgency, .encoding: (400, 110)
            case .topic: (400, 113)
            case .size: (413, 104)
            case .token, .otherKey: (401, 109)
            case .senderQuota, .subscriptionQuota: (429, 999)
            case .unavailable: (503, 201)
            }
        var answer = WebPushAnswer(status: status)
        answer.headers.add(name: "content-type", value: "application/json")
        if status == 410 { answer.headers.add(name: "cache-control", value: "max-age=86400") }
        if status == 503 { answer.headers.add(name: "retry-after", value: "120") }
        answer.body =
            "{\"code\":\(status),\"errno\":\(errno),\"error\":\"\",\"message\":\(jsonString(refusal.text))}"
        return answer
    }

    private func google(_ refusal: PushServiceRefusal) -> WebPushAnswer {
        let (status, text): (Int, String) =
            switch refusal.cause {
            case .method: (405, refusal.text)
            case .unknownSubscription: (404, "A valid push subscription endpoint should be specified in the URL")
            case .endedSubscription: (410, "push subscription has unsubscribed or expired.")
            case .missingTimeToLive, .timeToLive, .urgency, .topic, .encoding: (400, refusal.text)
            case .size: (413, "payload too large")
            case .token: (403, refusal.text)
            case .otherKey:
                (
                    403,
                    "the VAPID credentials in the authorization header do not correspond to the credentials used to "
                        + "create the subscriptions."
                )
            case .senderQuota: (429, "Quota exceeded.")
            case .subscriptionQuota: (429, "Too many messages for this subscription.")
            case .unavailable: (503, "The service is temporarily unavailable.")
            }
        var answer = WebPushAnswer(status: status)
        answer.headers.add(name: "content-type", value: "text/plain; charset=utf-8")
        answer.body = text + "\n"
        return answer
    }

    private func apple(_ refusal: PushServiceRefusal) -> WebPushAnswer {
        let (status, reason): (Int, String) =
            switch refusal.cause {
            case .method: (405, "MethodNotAllowed")
            case .unknownSubscription: (404, "BadPath")
            case .endedSubscription: (410, "Unregistered")
            case .missingTimeToLive, .timeToLive: (400, "BadTtl")
            case .urgency: (400, "BadUrgency")
            case .topic: (400, "BadWebPushTopic")
            case .encoding: (400, "BadWebPushRequest")
            case .size: (413, "PayloadTooLarge")
            case .token: (403, "BadJwtToken")
            case .otherKey: (403, "VapidPkHashMismatch")
            case .senderQuota, .subscriptionQuota: (429, "TooManyRequests")
            case .unavailable: (503, "ServiceUnavailable")
            }
        var answer = WebPushAnswer(status: status)
        answer.headers.add(name: "content-type", value: "application/json")
        answer.body = "{\"reason\":\"\(reason)\"}"
        return answer
    }

    /// Details stand in fields, and there is no body.
    private func windows(_ refusal: PushServiceRefusal) -> WebPushAnswer {
        let (status, state): (Int, String) =
            switch refusal.cause {
            case .method: (405, "dropped")
            case .unknownSubscription: (404, "dropped")
            case .endedSubscription: (410, "dropped")
            case .missingTimeToLive, .timeToLive, .urgency, .topic, .encoding: (400, "dropped")
            case .size: (413, "dropped")
            case .token: (401, "dropped")
            case .otherKey: (403, "dropped")
            case .senderQuota: (406, "appthrottled")
            case .subscriptionQuota: (406, "channelthrottled")
            case .unavailable: (503, "dropped")
            }
        var answer = WebPushAnswer(status: status)
        answer.headers.add(name: "x-wns-status", value: state)
        answer.headers.add(name: "x-wns-notificationstatus", value: state)
        answer.headers.add(name: "x-wns-error-description", value: refusal.text)
        return answer
    }
}
