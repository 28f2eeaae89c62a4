import FCMWire
import PushModel
import Upstream

/// Turns the pushes of one batch into requests (Apple, "Sending notification requests to APNs"). The fields that a
/// broadcast's pushes share are built once; `authorization` is added by the connection.
///
/// HPACK: what changes with every push would evict what repeats, so of such fields only the first one on a connection is
/// indexed, for its name (Apple, "Sending notification requests to APNs"); the token never is.
struct RequestBuilder {
    private var heads: [ObjectIdentifier: PushRequestHead] = [:]
    /// The content of the last push: nearly always that of the next one.
    private var last: (content: ObjectIdentifier, head: PushRequestHead)?
    /// What paths are put together in.
    private var text: [UInt8] = []

    /// Keep the pushes alive as long as the builder: it knows contents by identity.
    init() {}

    /// Adds the request of one push.
    mutating func append(_ push: Push, to requests: inout PushRequests) {
        requests.append(
            head: head(of: push.content), path: path(to: push.address),
            fields: PushRequestFields("apns-id", push.id.rawValue, indexing: .name), body: push.payload,
            isUrgent: push.lane == .interactive)
    }

    private mutating func head(of content: any ComposedPush) -> PushRequestHead {
        let identity = ObjectIdentifier(content)
        if let last, last.content == identity { return last.head }
        if let head = heads[identity] {
            last = (identity, head)
            return head
        }
        guard let content = content as? ApplePush else { preconditionFailure("a push that was composed for others") }
        var fields = PushRequestFields("apns-topic", content.topic)
        fields.append("apns-push-type", content.pushType.rawValue)
        fields.append("apns-priority", String(content.priority.rawValue))
        fields.append("apns-expiration", Self.text(of: content.expiration), indexing: .name)
        if let collapseID = content.collapseID {
            fields.append("apns-collapse-id", collapseID, indexing: .name)
        }
        let head = PushRequestHead(fields)
        heads[identity] = head
        last = (identity, head)
        return head
    }

    /// Seconds since the epoch; 0 means one attempt without storing. A time in the past must not turn into a 0 or a
    /// negative number, hence the floor of 1.
    static func text(of expiration: APNSExpiration) -> String {
        switch expiration {
        case .once: "0"
        case .until(let time): String(max(1, time.seconds))
        }
    }

    private static let prefix = Array("/3/device/".utf8)

    /// `/3/device/<token>`, written digit by digit: this runs for each push.
    private mutating func path(to address: Address) -> String {
        // The route is one of APNs, and so is its channel.
        guard case .apple(let token, _) = address else { preconditionFailure("a push to another service") }
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
