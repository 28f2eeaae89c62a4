import FCMWire
import HTTPTypes
import JSON
import PushModel
import Store

/// One message of a request: what, to whom, how.
struct SendItem: Sendable {
    /// What to send.
    let content: FCMMessage
    /// To whom; `nil`: the request names no target.
    let target: Target?
    /// How it is to be delivered.
    let options: DeliveryOptions
    /// How long the sender wants to wait for the outcome; `nil`: not at all.
    let wait: Duration?
    /// Whether the push service is to check the message, too.
    let asksUpstream: Bool
    /// What the sender most likely did not mean, whomever it goes to.
    private let warnings: [MessageWarning]

    /// The members that an item has.
    static let names = ["message", "delivery", "target"]

    /// Refuses members of `body` that are neither an item's nor one of `more`.
    static func refuseUnknown(in body: ObjectReader, except more: [String] = []) throws(FCMError) {
        do throws(FCMError) {
            try body.refuseUnknown(except: names + more)
        } catch {
            throw error.hinting(SenderHint.body(body))
        }
    }

    /// Decodes a message and what stands beside it.
    ///
    /// - Parameters:
    ///   - messageBytes: those of the message, when they are what the store keeps of it.
    ///   - now: what `finishBy` must be later than.
    ///   - platforms: those that the project serves: the message's life is the longest on one of them.
    init(
        _ body: ObjectReader, messageBytes: [UInt8]? = nil, at now: Timestamp, to platforms: [Platform] = [.apple]
    ) throws(FCMError) {
        guard let message = body.value("message") else {
            throw .invalid("message", "The message is missing.").hinting(SenderHint.body(body))
        }
        guard case .object = message else {
            // In Google's words, a list among them.
            _ = try body.object("message", type: "type.googleapis.com/google.firebase.fcm.v1.Message")
            throw .invalid("message", "The message is missing.")
        }
        let named: Target?
        do throws(InvalidMessage) {
            content = try FCMMessage(source: message, bytes: messageBytes)
            named = try content.target()
        } catch {
            throw FCMError(error).hinting(SenderHint.message(message))
        }
        let beside = try Self.target(in: body)
        guard beside == nil || named == nil else {
            throw .invalid("target", "The message names its own target: a target beside it is one too many.")
        }
        target = beside ?? named
        options = try DeliveryOptions(in: body, at: now, timeToLive: Self.longest(of: content, on: platforms, now))
        let delivery = try body.object("delivery", type: "TYPE_MESSAGE")
        wait = try delivery?.duration("wait")
        asksUpstream = try delivery?.bool("upstream") ?? false
        warnings = content.warnings(acceptedAt: now)
    }

    /// How long a message lives where it lives longest.
    private static func longest(of content: FCMMessage, on platforms: [Platform], _ now: Timestamp) -> TimeToLive {
        (platforms.isEmpty ? [.apple] : platforms).reduce(.once) { longest, platform in
            let life = content.timeToLive(acceptedAt: now, on: platform)
            return switch (longest, life) {
            case (.lasting(let one), .lasting(let other)): .lasting(max(one, other))
            case (.once, _): life
            case (_, .once): longest
            }
        }
    }

    /// `warnings` beside the message's name; nothing when there is none. FCM's SDKs pass over it.
    func warningMembers(in project: Project) -> [JSONValue.Member] {
        // To whom it goes is known to a dry run only: what it lacks is told for Apple's devices, where there are any.
        let empty = project.reaches(.apple) ? content.emptyWarning(on: .apple) : nil
        return Self.members(warnings + [empty].compactMap(\.self))
    }

    /// The same of a dry run, with what is wrong for the platforms that it goes to.
    func warningMembers(of preflight: PreflightView) -> [JSONValue.Member] {
        Self.members(warnings + preflight.warnings(of: content))
    }

    private static func members(_ warnings: [MessageWarning]) -> [JSONValue.Member] {
        guard !warnings.isEmpty else { return [] }
        return [
            .init(
                "warnings",
                .array(
                    warnings.map { warning in
                        .object([
                            .init("reason", .string(warning.reason.rawValue)), .init("field", .string(warning.field)),
                            .init("description", .string(warning.description)),
                        ])
                    }))
        ]
    }

    /// Refuses to have the push service check the message where it is to be sent, or where it is not for one registration.
    func refuseUpstream() throws(FCMError) {
        guard !asksUpstream else { throw .upstreamNotPossible }
    }

    /// Refuses a wait where waiting is not possible.
    func refuseWait() throws(FCMError) {
        guard wait == nil else { throw .waitNotPossible }
    }

    /// The target, which there must be.
    func requiredTarget() throws(FCMError) -> Target {
        guard let target else {
            throw .invalid("message", "Recipient of the message is not set.", reason: .missingTarget)
        }
        return target
    }

    /// `target`: `{"user": "alice"}` or `{"channel": "match-42", "app": "com.example.app", "environment": "sandbox"}`.
    private static func target(in body: ObjectReader) throws(FCMError) -> Target? {
        guard let target = try body.object("target", type: "TYPE_MESSAGE") else { return nil }
        try target.refuseUnknown(except: ["user", "channel", "app", "environment"])
        if let text = try target.string("channel") {
            guard target.value("user") == nil else {
                throw .invalid(target.path, "The target is a user or a channel, not both.")
            }
            return .channel(
                ChannelTarget(
                    name: try ChannelName(text, field: target.fullPath("channel")), app: try target.string("app"),
                    environment: try target.string("environment")))
        }
        for name in ["app", "environment"] where target.value(name) != nil {
            throw .invalid(target.fullPath(name), "\(name) belongs to a target that is a channel.")
        }
        guard let text = try target.string("user") else {
            throw .invalid(target.path, "The target names no one: it must have a user or a channel.")
        }
        guard let user = UserID(rawValue: text) else {
            throw .invalid(
                target.fullPath("user"), "A user is \(UserID.expectation).")
        }
        return .user(user)
    }
}

extension DeliveryOptions {
    /// Reads the `delivery` object of `body`; the defaults when there is none.
    ///
    /// - Parameter timeToLive: of the message: its fan-out has to be through before.
    init(in body: ObjectReader, at now: Timestamp, timeToLive: TimeToLive) throws(FCMError) {
        self.init()
        guard let reader = try body.object("delivery", type: "TYPE_MESSAGE") else { return }
        try reader.refuseUnknown(except: ["rate", "finish_by", "collapse_repeats", "start_time", "wait", "upstream"])
        guard reader.value("start_time") == nil else {
            throw .invalid(
                reader.fullPath("startTime"),
                "delivery.startTime is reserved: this version does not schedule messages. Send it when it is due.")
        }
        rate = try reader.integer("rate")
        if let rate, rate < 1 {
            throw .invalid(reader.fullPath("rate"), "The rate is pushes a second, a whole number of 1 or more.")
        }
        finishBy = try reader.time("finish_by")
        if let finishBy { try Self.check(finishBy, at: reader.fullPath("finishBy"), now, timeToLive) }
        guard rate == nil || finishBy == nil else {
            throw .invalid(reader.path, "rate and finishBy exclude each other: set only one of them.")
        }
        collapsesRepeats = try reader.bool("collapse_repeats") ?? true
    }

    private static func check(
        _ finishBy: Timestamp, at path: String, _ now: Timestamp, _ timeToLive: TimeToLive
    ) throws(FCMError) {
        guard finishBy > now else { throw .invalid(path, "finishBy must be in the future.") }
        switch timeToLive {
        case .once:
            throw .invalid(path, "A message that is tried once (apns-expiration 0) has no time for finishBy.")
        case .lasting(let life):
            guard finishBy < now + life else {
                throw .invalid(path, "finishBy must lie before the message's expiry, \((now + life).rfc3339).")
            }
        }
    }
}

/// The body of a send request: `{message, validate_only, estimate_audience}`, and beside FCM's own `delivery` and `target`.
struct SendRequest: Sendable {
    /// What, to whom, how.
    let item: SendItem
    /// Whether nothing is to be kept.
    let validatesOnly: Bool
    /// Whether the audience is estimated from counts that are kept instead of counted.
    let estimatesAudience: Bool

    /// Decodes a body.
    ///
    /// - Parameter platforms: those that the project serves.
    init(_ body: RequestBody, at now: Timestamp, to platforms: [Platform] = [.apple]) throws(FCMError) {
        let (reader, messageBytes) = try body.message()
        try self.init(reader, messageBytes: messageBytes, at: now, to: platforms)
    }

    /// Decodes a body that was read.
    ///
    /// - Parameters:
    ///   - messageBytes: those of its message, when they are what the store keeps of it.
    ///   - platforms: those that the project serves.
    init(
        _ body: ObjectReader, messageBytes: [UInt8]? = nil, at now: Timestamp, to platforms: [Platform] = [.apple]
    ) throws(FCMError) {
        try SendItem.refuseUnknown(in: body, except: ["validate_only", "estimate_audience"])
        validatesOnly = try body.bool("validate_only") ?? false
        estimatesAudience = try body.bool("estimate_audience") ?? false
        guard validatesOnly || !estimatesAudience else {
            throw .badRequest("estimateAudience", "estimateAudience is for validateOnly.")
        }
        item = try SendItem(body, messageBytes: messageBytes, at: now, to: platforms)
        if !validatesOnly { try item.refuseUpstream() }
    }
}

/// The body of a batch.
struct BatchSendRequest: Sendable {
    /// What is sent.
    let batch: Batch
    /// Whether nothing is to be kept.
    let validatesOnly: Bool

    /// The most messages.
    static let messageLimit = 10_000

    /// The two forms of a batch.
    enum Batch: Sendable {
        /// Messages of their own; each is decoded when its turn comes, so that one that is wrong does not spoil the rest.
        case messages([JSONValue])
        /// One message to many tokens.
        case multicast(SendItem, tokens: [String])
    }

    /// Decodes a body.
    ///
    /// - Parameter platforms: those that the project serves.
    init(_ body: ObjectReader, at now: Timestamp, to platforms: [Platform]) throws(FCMError) {
        try SendItem.refuseUnknown(in: body, except: ["messages", "tokens", "validate_only"])
        validatesOnly = try body.bool("validate_only") ?? false
        let messages = try body.array("messages")
        let tokens = try body.strings("tokens")
        switch (messages, tokens) {
        case (.some(let messages), nil):
            for name in SendItem.names where body.value(name) != nil {
                throw .badRequest(name, "\(name) belongs into each of messages: a batch has either messages or tokens.")
            }
            guard (1...Self.messageLimit).contains(messages.count) else {
                throw .badRequest("messages", "A batch has 1 to \(Self.messageLimit) messages, not \(messages.count).")
            }
            batch = .messages(messages)
        case (nil, .some(let tokens)):
            guard (1...NewMessage.listLimit).contains(tokens.count) else {
                throw .badRequest("tokens", "A batch has 1 to \(NewMessage.listLimit) tokens, not \(tokens.count).")
            }
            let item = try SendItem(body, at: now, to: platforms)
            guard item.target == nil else {
                throw .invalid("message", "The message must name no target: it goes to the tokens of the batch.")
            }
            try item.refuseWait()
            try item.refuseUpstream()
            batch = .multicast(item, tokens: tokens)
        case (nil, nil), (.some, .some):
            throw .badRequest("messages", "A batch has either messages, or one message and tokens.")
        }
    }
}

/// The `Idempotency-Key` header.
enum IdempotencyHeader {
    /// The longest key in bytes.
    static let limitBytes = 255

    /// The key of a request, 1 to 255 visible ASCII characters; `nil` when it has none.
    static func key(in headers: HTTPFields) throws(FCMError) -> String? {
        guard let key = headers[.idempotencyKey] else { return nil }
        guard (1...limitBytes).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw .badRequest(
                "Idempotency-Key", "The Idempotency-Key must be 1 to \(limitBytes) visible ASCII characters.")
        }
        return key
    }
}

extension HTTPField.Name {
    /// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
