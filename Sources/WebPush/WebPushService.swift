import FCMWire
import PushModel
import Signing
import Upstream

/// A push service of browsers as an upstream sees it: one origin.
struct WebPushService: PushService {
    /// Host of the origin, for what single services want.
    let host: String
    let wallTime: WallTime
    private let quota: QuotaWatch
    private let sizes: SizeLimit

    init(host: String, wallTime: @escaping WallTime, uptime: @escaping Uptime) {
        self.host = host
        self.wallTime = wallTime
        quota = QuotaWatch(uptime: uptime)
        sizes = SizeLimit(uptime: uptime)
    }

    var name: String { "Web Push" }

    /// Encrypts each push for its browser (RFC 8291): about a tenth of a millisecond each, so the upstream has it done by
    /// threads of its own.
    func requests(for indices: [Int], of batch: [Push]) -> PushRequests {
        quota.sent(indices.count)
        var requests = PushRequests(capacity: indices.count)
        var heads = RequestHeads(service: self, now: wallTime())
        var encryptor = PushEncryptor()
        for index in indices {
            let push = batch[index]
            guard let subscription = push.address.webSubscription, let content = push.content as? BrowserPush else {
                preconditionFailure("a push to another service")
            }
            switch encryptor.body(of: push.payload, for: subscription) {
            case .success(let body):
                requests.append(
                    head: heads.head(of: content), path: subscription.path, fields: PushRequestFields(), body: body,
                    isUrgent: push.lane == .interactive)
            case .failure(let error): requests.refuse(index, because: WebPushReasonTable.refusal(encrypting: error))
            }
        }
        return requests
    }

    /// 201 of RFC 8030 §5; 200 and 202 are seen too.
    func isUsualSuccess(_ status: Int) -> Bool { (200...202).contains(status) }

    func topic(of push: Push) -> String { push.content.topic }

    /// The address of the message, at which it could be withdrawn, and the time to live that the service grants, which may
    /// be less than was asked for (RFC 8030 §5 and §5.2).
    func acceptance(in answer: AcceptingAnswer) -> Acceptance? {
        Acceptance(id: answer.field("location"), seconds: answer.field("ttl").flatMap { Int64($0) })
    }

    /// The header fields that this reads.
    static let answerFields = ["location", "ttl"]

    /// Those whose sender's own time to live is over, those that show nothing at Apple's (Safari ends the permission of their
    /// page), and those of a size that the service has refused.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> [Int: Refusal] {
        let now = wallTime()
        let limit = sizes.bytes
        var refused: [Int: Refusal] = [:]
        for index in indices {
            guard let content = batch[index].content as? BrowserPush else { continue }
            if content.endsAt.map({ $0 <= now }) ?? false {
                refused[index] = Refusal(.timeToLiveOver, .push(.timeToLive))
            } else if isApple, !content.isDisplayed {
                refused[index] = Refusal(.nothingToShow, .push(.payload))
            } else if batch[index].payload.count >= limit {
                refused[index] = Refusal(.payloadTooLarge, .push(.payloadSize))
            }
        }
        return refused
    }

    var notesAnswers: Bool { true }

    func note(_ outcome: Outcome, of push: Push) {
        switch outcome {
        case .accepted: sizes.accepted(push.payload.count)
        case .rejected(let refusal) where refusal.scope == .push(.payloadSize): sizes.refused(push.payload.count)
        case .rejected, .throttled, .notSent, .unknown: break
        }
    }

    func refusal(status: Int, body: [UInt8]) -> Refusal {
        let refusal = WebPushReasonTable.refusal(status: status, body: body, isOfOne: quota.isOfDevice)
        // Services do not say since when: a subscription that is gone is gone by now.
        guard refusal.scope == .addressDead(since: nil) else { return refusal }
        return Refusal(refusal.reason, .addressDead(since: wallTime()), label: refusal.label)
    }

    func meaning(of reason: Reason) -> String? { WebPushReasonTable.catalog[reason]?.meaning }

    var overload: Refusal { Refusal(.serviceUnavailable, .load(.service)) }
    var addressOverload: Refusal { Refusal(.tooManyRequests, .load(.address)) }
    var unknownAddress: Reason? { .subscriptionUnknown }
    var addressDoubt: Refusal { Refusal(.subscriptionUnknown, .addressDoubtful) }
    var firstAddressPause: Duration { .seconds(60) }
    /// The first such answer parks the key at its origin, unless others of the key are accepted there (webpush.md §5).
    var mismatches: MismatchLimits? {
        MismatchLimits(reason: .keyMismatch, confirmations: 1, withoutAcceptance: 1, share: 0.5)
    }

    private var isApple: Bool { host == "push.apple.com" || host.hasSuffix(".push.apple.com") }
    /// Windows' service refuses a time to live of zero.
    var isWindows: Bool { host.hasSuffix(".notify.windows.com") }
}

/// The header fields that the pushes of a broadcast share (RFC 8030 §5, RFC 8291 §4), made once for each message.
private struct RequestHeads {
    let service: WebPushService
    let now: Timestamp
    private var heads: [ObjectIdentifier: PushRequestHead] = [:]

    /// The shortest time to live that Windows' service takes.
    private static let windowsSeconds: Int64 = 60

    init(service: WebPushService, now: Timestamp) {
        self.service = service
        self.now = now
    }

    mutating func head(of content: BrowserPush) -> PushRequestHead {
        let identity = ObjectIdentifier(content)
        if let head = heads[identity] { return head }
        let remaining = max(0, (content.expiresAt - now).components.seconds)
        let seconds = service.isWindows ? max(remaining, Self.windowsSeconds) : remaining
        var fields = PushRequestFields("ttl", String(seconds), indexing: .name)
        fields.append("urgency", content.urgency.rawValue)
        fields.append("content-encoding", "aes128gcm")
        fields.append(
            "content-type", content.isDisplayed ? "application/notification+json" : "application/octet-stream")
        if let topic = content.replaces { fields.append("topic", topic, indexing: .name) }
        if service.isWindows { fields.append("x-wns-cache-policy", "cache") }
        let head = PushRequestHead(fields)
        heads[identity] = head
        return head
    }
}

/// Encrypts the pushes of one batch. Each holds what OpenSSL would look up for each push.
private struct PushEncryptor: ~Copyable {
    private var encryptor: WebPushEncryptor?
    /// Why there is none.
    private var failure: SigningError?

    init() {
        do throws(SigningError) {
            encryptor = try WebPushEncryptor()
        } catch {
            encryptor = nil
            failure = error
        }
    }

    /// The encrypted body. The keys were checked when the browser registered, and the length when the message was
    /// accepted.
    mutating func body(
        of payload: [UInt8], for subscription: WebSubscription
    ) -> Result<[UInt8], SigningError> {
        let keys = SubscriptionKeys(checkedPublicKey: subscription.key, secret: subscription.secret)
        do throws(SigningError) {
            guard let body = try encryptor?.body(of: payload, for: keys) else {
                return .failure(failure ?? SigningError(.library, "OpenSSL does not offer what Web Push needs."))
            }
            return .success(body)
        } catch {
            return .failure(error)
        }
    }
}

extension WebSubscription {
    /// Path and query of the endpoint.
    fileprivate var path: String {
        guard let start = endOfAuthority else { return "/" }
        let end = endpoint.utf8[start...].firstIndex(of: UInt8(ascii: "#")) ?? endpoint.endIndex
        let rest = endpoint[start..<end]
        return rest.utf8.first == UInt8(ascii: "/") ? String(rest) : "/" + rest
    }
}
