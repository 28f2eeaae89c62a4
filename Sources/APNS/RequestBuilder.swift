import HTTP2Client
import PushModel

/// Turns the pushes of one batch into requests (Apple, "Sending notification requests to APNs"). The fields that a
/// broadcast's pushes share are built once; `authorization` is the pool's, see ``UpstreamPools/use(_:isNewSeries:)``.
///
/// HPACK: what changes with every push would evict what repeats, so of such fields only the first one on a connection is
/// indexed, for its name (Apple, "Sending notification requests to APNs"); the token never is.
struct RequestBuilder {
    private var heads: [ObjectIdentifier: RequestHead] = [:]
    /// The content of the last push: nearly always that of the next one.
    private var last: (content: ObjectIdentifier, head: RequestHead)?
    /// What paths are put together in.
    private var text: [UInt8] = []

    /// Keep the pushes alive as long as the builder: it knows contents by identity.
    init() {}

    /// The request of one push.
    mutating func request(for push: Push) -> Request {
        Request(
            head: head(of: push.content), path: path(to: push.deviceToken),
            fields: [HeaderField("apns-id", push.id.rawValue, indexing: .first)], body: push.payload,
            isUrgent: push.lane == .interactive)
    }

    private mutating func head(of content: ApplePush) -> RequestHead {
        let identity = ObjectIdentifier(content)
        if let last, last.content == identity { return last.head }
        if let head = heads[identity] {
            last = (identity, head)
            return head
        }
        var headers = [
            HeaderField("apns-topic", content.topic),
            HeaderField("apns-push-type", content.pushType.rawValue),
            HeaderField("apns-priority", String(content.priority.rawValue)),
            HeaderField("apns-expiration", Self.text(of: content.expiration), indexing: .first),
        ]
        if let collapseID = content.collapseID {
            headers.append(HeaderField("apns-collapse-id", collapseID, indexing: .first))
        }
        let head = RequestHead(method: "POST", fields: headers)
        heads[identity] = head
        last = (identity, head)
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

    /// `/3/device/<token>`, written digit by digit: this runs for each push.
    private mutating func path(to token: DeviceToken) -> String {
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: Self.prefix)
        for byte in token.bytes {
            text.append(Self.digit(byte >> 4))
            text.append(Self.digit(byte & 0xf))
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
