package import FCMWire
import JSON
package import PushModel

/// What one message says to the Android devices of one app: the body of the request to Google but for the token and the
/// time that is left, built once and shared by all pushes of a broadcast.
package final class AndroidPush: ComposedPush {
    /// A body, cut where the time to live and the token go.
    struct Form: Sendable {
        let head: [UInt8]
        let middle: [UInt8]

        /// The end of every body.
        static let tail = Array("\"}}".utf8)
    }

    /// The message without target, as Google gets it for an Android device.
    package let payload: [UInt8]
    /// The app, by which pauses go.
    package let topic: String
    /// What the sender asked for, or FCM's own rule.
    package let priority: PushPriority
    /// `collapse_key`.
    package let collapseID: String?
    /// Whether Google only checks it (`validate_only`).
    package let isDryRun: Bool
    /// When the sender's own `ttl` is over, after which nothing is sent; `nil`: it has none, or it is for now or never.
    package let endsAt: Timestamp?

    /// With the blocks that Android has.
    let android: Form
    /// With the blocks for all platforms, for a token whose platform only Google knows.
    let whole: Form
    private let androidAnswers = MessageAnswers()
    private let wholeAnswers = MessageAnswers()
    private let expiresAt: Timestamp
    private let isNowOrNever: Bool

    package var isPersonal: Bool { false }
    package func payload(for registration: RegistrationID) -> [UInt8] { payload }

    /// Builds the bodies of `content` for one app.
    ///
    /// - Parameter isDryRun: whether Google is to check it and to send nothing.
    /// - Throws: ``InvalidMessage`` with both sizes when Google would refuse it for its size.
    package init(_ content: FCMMessage, in context: PushContext, isDryRun: Bool = false) throws(InvalidMessage) {
        let parts = AndroidParts(of: content)
        guard parts.countedBytes <= AndroidParts.limitBytes else {
            throw InvalidMessage([
                FieldViolation(
                    field: "message",
                    description:
                        "Android message is too big: its data and notification have \(parts.countedBytes) bytes, "
                        + "the limit is \(AndroidParts.limitBytes).", cause: .payloadTooLarge)
            ])
        }
        let block = parts.block(in: context)
        payload =
            JSONValue.object(
                parts.common + (block.isEmpty ? [] : [.init(parts.blockName, .object(block))])
            ).bytes
        android = Form(parts.common, parts.blockName, block, isDryRun: isDryRun)
        whole = Form(parts.common + parts.otherPlatforms, parts.blockName, block, isDryRun: isDryRun)
        topic = context.app.id.rawValue
        priority = parts.isHigh ? .immediate : .conserving
        collapseID = parts.collapseKey
        self.isDryRun = isDryRun
        isNowOrNever = parts.timeToLive == .zero
        let end = parts.timeToLive.flatMap { time in context.acceptedAt.map { $0 + time } }
        endsAt = isNowOrNever ? nil : end
        expiresAt = min(context.expiresAt, endsAt ?? context.expiresAt)
    }

    /// What Google says of the message in one of its two forms.
    func answers(isWhole: Bool) -> MessageAnswers { isWhole ? wholeAnswers : androidAnswers }

    /// The `ttl` to ask for now, in whole seconds. In the last second it is one: zero would mean now or never.
    func secondsToLive(at now: Timestamp) -> Int64 {
        if isNowOrNever { return 0 }
        let (seconds, part) = (expiresAt - now).components
        if seconds == 0, part > 0 { return 1 }
        return max(0, min(seconds, AndroidParts.longestTimeToLive.components.seconds))
    }
}

extension AndroidPush.Form {
    fileprivate init(
        _ fields: [JSONValue.Member], _ blockName: String, _ block: [JSONValue.Member], isDryRun: Bool
    ) {
        var head = Array((isDryRun ? "{\"validate_only\":true,\"message\":{" : "{\"message\":{").utf8)
        for field in fields { head += JSONValue.object([field]).bytes.dropFirst().dropLast() + [UInt8(ascii: ",")] }
        head += Array("\"\(blockName)\":{".utf8)
        for field in block { head += JSONValue.object([field]).bytes.dropFirst().dropLast() + [UInt8(ascii: ",")] }
        self.head = head + Array("\"ttl\":\"".utf8)
        middle = Array("s\"},\"token\":\"".utf8)
    }

    /// The body up to the token.
    func start(seconds: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        let text = String(seconds)
        bytes.reserveCapacity(head.count + text.utf8.count + middle.count)
        bytes += head
        bytes += text.utf8
        bytes += middle
        return bytes
    }
}

extension AndroidParts {
    /// The members of the block: those of the sender, and where a repeat is to replace the first on the screen, a tag.
    fileprivate func block(in context: PushContext) -> [JSONValue.Member] {
        guard context.collapsesRepeats, isDisplayed, blockName == "android" else { return block }
        let tag = JSONValue.Member("tag", .string(context.message.rawValue))
        var members = block
        guard let place = members.firstIndex(where: { $0.name == "notification" }) else {
            return members + [.init("notification", .object([tag]))]
        }
        guard case .object(let notification) = members[place].value,
            !notification.contains(where: { $0.name == "tag" && $0.value != .string("") })
        else { return members }
        members[place].value = .object(notification.filter { $0.name != "tag" } + [tag])
        return members
    }
}
