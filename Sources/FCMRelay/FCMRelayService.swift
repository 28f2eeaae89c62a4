import PushModel
import Upstream

/// Google's push service as an upstream sees it, for one Firebase project (fcm-relay.md §3).
struct FCMRelayService: PushService {
    private let path: String
    private let head: PushRequestHead
    private let quota: QuotaWatch
    private let otherPlatforms = OtherPlatforms()
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

    /// The app's; for tokens behind which Google has another push service one of their own, so that they wait by themselves
    /// while Google's credential for that one is refused.
    func topic(of push: Push) -> String {
        otherPlatforms.contains(push.address) ? "\(push.content.topic) beyond Google" : push.content.topic
    }

    /// Those whose sender's own time to live is over, and those of a message that Google does not take.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> [Int: Refusal] {
        let now = wallTime()
        var refused: [Int: Refusal] = [:]
        for index in indices {
            guard let content = batch[index].content as? AndroidPush else { continue }
            if content.endsAt.map({ $0 <= now }) ?? false {
                refused[index] = FCMRelayReasonTable.refusal(.timeToLiveOver)
            } else if let refusal = content.answers(isWhole: batch[index].address.isRelayed).refusal {
                refused[index] = refusal
            }
        }
        return refused
    }

    var notesAnswers: Bool { true }

    func note(_ outcome: Outcome, of push: Push) {
        (push.content as? AndroidPush)?.answers(isWhole: push.address.isRelayed)
            .note(outcome, isProven: push.isProven)
        if outcome.refusal?.reason == .thirdParty { otherPlatforms.insert(push.address) }
    }

    func refusal(status: Int, body: [UInt8]) -> Refusal {
        FCMRelayReasonTable.refusal(status: status, body: body, isOfDevice: quota.isOfDevice)
    }

    func meaning(of reason: Reason) -> String? { FCMRelayReasonTable.catalog[reason]?.meaning }

    /// The last part of `{"name":"projects/p/messages/<id>"}`, as it stands there.
    func acceptance(in answer: AcceptingAnswer) -> Acceptance? { Acceptance(id: Self.id(of: answer.body)) }

    /// Read from the bytes: a search in a `String` took a fifth of a broadcast's processor time.
    private static func id(of body: [UInt8]) -> String? {
        let body = body.prefix(nameLimitBytes)
        guard let start = body.indices.first(where: { body[$0...].starts(with: collection) }) else { return nil }
        let id = body[(start + collection.count)...].prefix { $0 != UInt8(ascii: "\"") }
        return id.endIndex < body.endIndex ? String(decoding: id, as: UTF8.self) : nil
    }

    private static let collection = Array("/messages/".utf8)
    private static let nameLimitBytes = 1024

    var seesDeathAtOnce: Bool { true }
    /// Above 20 % of the answers the account is what is wrong (fcm-relay.md §4), and with nothing accepted too.
    var mismatches: MismatchLimits? {
        MismatchLimits(reason: .senderMismatch, confirmations: 2, withoutAcceptance: 3, share: 0.2)
    }
    var firstAddressPause: Duration { .seconds(60) }
    /// What Google takes for one device (fcm-relay.md §5).
    var addressLimit: Int? { 240 }
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
        let characters = token.rawValue.utf8
        if characters.contains(where: \.isEscaped) {
            for byte in characters {
                if byte.isEscaped { body.append(UInt8(ascii: "\\")) }
                body.append(byte)
            }
        } else {
            body += characters
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

extension UInt8 {
    /// Whether a string of JSON has a backslash before it; control characters are none of a token's.
    fileprivate var isEscaped: Bool { self == UInt8(ascii: "\"") || self == UInt8(ascii: "\\") }
}
