import PushModel
import Upstream

/// Google's push service as an upstream sees it, for one Firebase project (fcm-relay.md §3).
struct FCMRelayService: PushService {
    private let path: String
    private let head: PushRequestHead
    private let quota: QuotaWatch
    private let wallTime: WallTime

    init(projectID: String, wallTime: @escaping WallTime, uptime: @escaping Uptime) {
        path = "/v1/projects/\(projectID)/messages:send"
        head = PushRequestHead(PushRequestFields("content-type", "application/json"))
        quota = QuotaWatch(uptime: uptime)
        self.wallTime = wallTime
    }

    var name: String { "FCM" }

    func requests(for indices: [Int], of batch: [Push]) -> PushRequests {
        quota.sent(indices.count)
        var requests = PushRequests(capacity: indices.count)
        var bodies = RequestBodies(now: wallTime())
        for index in indices {
            requests.append(
                head: head, path: path, fields: PushRequestFields(), body: bodies.body(of: batch[index]),
                isUrgent: batch[index].lane == .interactive)
        }
        return requests
    }

    func topic(of push: Push) -> String { push.content.topic }

    /// Those whose sender's own time to live is over.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> RefusedPushes? {
        let now = wallTime()
        let over = indices.filter { index in
            (batch[index].content as? AndroidPush)?.endsAt.map { $0 <= now } ?? false
        }
        if over.isEmpty { return nil }
        return RefusedPushes(indices: over, refusal: FCMRelayReasonTable.refusal(.timeToLiveOver))
    }

    func refusal(status: Int, body: [UInt8]) -> Refusal {
        FCMRelayReasonTable.refusal(status: status, body: body, isOfDevice: quota.isOfDevice)
    }

    func meaning(of reason: Reason) -> String? { FCMRelayReasonTable.catalog[reason]?.meaning }

    func wait(after refusal: Refusal) -> Duration? { FCMRelayReasonTable.wait(after: refusal) }

    /// The last part of `{"name":"projects/p/messages/<id>"}`, as it stands there.
    func id(of body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(Self.nameLimitBytes), as: UTF8.self)
        guard let place = text.firstRange(of: "/messages/") else { return nil }
        let id = text[place.upperBound...].prefix { $0 != "\"" }
        guard !id.isEmpty, id.endIndex < text.endIndex, id.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            return nil
        }
        return String(id)
    }

    private static let nameLimitBytes = 1024

    var seesDeathAtOnce: Bool { true }
    var firstAddressPause: Duration { .seconds(60) }
    var overload: Refusal { FCMRelayReasonTable.refusal(.unavailable) }
    var addressOverload: Refusal { FCMRelayReasonTable.refusal(.deviceQuotaExceeded) }
    var addressDoubt: Refusal { FCMRelayReasonTable.refusal(.invalidToken) }
}

/// The bodies of one batch: what the pushes of a message share is put together once.
private struct RequestBodies {
    let now: Timestamp
    private var starts: [Start: [UInt8]] = [:]
    /// That of the last push: most batches are of one message.
    private var last: (start: Start, bytes: [UInt8])?

    private struct Start: Hashable {
        let content: ObjectIdentifier
        let isWhole: Bool
    }

    init(now: Timestamp) {
        self.now = now
    }

    mutating func body(of push: Push) -> [UInt8] {
        guard let content = push.content as? AndroidPush, let token = push.address.androidToken else {
            preconditionFailure("a push to another service")
        }
        let start = start(of: content, isWhole: push.address.isRelayed)
        var body: [UInt8] = []
        body.reserveCapacity(start.count + token.rawValue.utf8.count + AndroidPush.Form.tail.count)
        body += start
        // A token has no character that is to be escaped but these two, and Google's have neither.
        for byte in token.rawValue.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { body.append(UInt8(ascii: "\\")) }
            body.append(byte)
        }
        body += AndroidPush.Form.tail
        return body
    }

    private mutating func start(of content: AndroidPush, isWhole: Bool) -> [UInt8] {
        let start = Start(content: ObjectIdentifier(content), isWhole: isWhole)
        if let last, last.start == start { return last.bytes }
        let form = isWhole ? content.whole : content.android
        let bytes = starts[start] ?? form.start(seconds: content.secondsToLive(at: now))
        starts[start] = bytes
        last = (start, bytes)
        return bytes
    }
}
