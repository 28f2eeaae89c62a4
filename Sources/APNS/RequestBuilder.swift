import HTTP2Client
import PushModel

/// Turns the pushes of one batch that share a provider token into requests (Apple, "Sending notification requests to
/// APNs"). The fields that a broadcast's pushes share are built once.
///
/// HPACK: what changes with every push or is secret is never indexed, so that it doesn't evict what repeats.
struct RequestBuilder {
    private let token: ProviderToken?
    private var heads: [ObjectIdentifier: RequestHead] = [:]

    /// Builds requests that carry `token`; `nil`: the connection's certificate stands in for it. Keep the pushes alive as long as the builder: it knows contents by identity.
    init(token: ProviderToken?) {
        self.token = token
    }

    /// The request of one push.
    mutating func request(for push: Push) -> Request {
        Request(
            head: head(of: push.content), path: Self.path(to: push.deviceToken),
            fields: [HeaderField("apns-id", push.id.rawValue, isIndexed: false)], body: push.payload,
            isUrgent: push.lane == .interactive)
    }

    private mutating func head(of content: ApplePush) -> RequestHead {
        let identity = ObjectIdentifier(content)
        if let head = heads[identity] { return head }
        var headers = token.map { [HeaderField("authorization", $0.authorization, isIndexed: false)] } ?? []
        headers += [
            HeaderField("apns-topic", content.topic),
            HeaderField("apns-push-type", content.pushType.rawValue),
            HeaderField("apns-priority", String(content.priority.rawValue)),
            HeaderField("apns-expiration", Self.text(of: content.expiration), isIndexed: false),
        ]
        if let collapseID = content.collapseID {
            headers.append(HeaderField("apns-collapse-id", collapseID, isIndexed: false))
        }
        let head = RequestHead(method: "POST", fields: headers)
        heads[identity] = head
        return head
    }

    /// Seconds since the epoch; 0 means one attempt without storing. A time in the past must not turn into a 0 or a
    /// negative number, hence the floor of 1.
    private static func text(of expiration: APNSExpiration) -> String {
        switch expiration {
        case .once: "0"
        case .until(let time): String(max(1, time.seconds))
        }
    }

    private static let prefix = Array("/3/device/".utf8)
    private static let digits = Array("0123456789abcdef".utf8)

    /// `/3/device/<token>`, written digit by digit: this runs for each push.
    private static func path(to token: DeviceToken) -> String {
        var path = prefix
        path.reserveCapacity(prefix.count + 2 * token.bytes.count)
        for byte in token.bytes {
            path.append(digits[Int(byte >> 4)])
            path.append(digits[Int(byte & 0xf)])
        }
        return String(decoding: path, as: UTF8.self)
    }
}
