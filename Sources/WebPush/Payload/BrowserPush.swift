package import FCMWire
import JSON
package import PushModel
import Signing

/// What one message says to the browsers of one app: the bytes that are encrypted for each, and the header values. Built
/// once and shared by all pushes of a broadcast.
///
/// One object serves every reader: Declarative Web Push (W3C Push API, `web_push` 8030), the service worker of Firebase's
/// SDK (`notification`, `data`, `fcmOptions`, `from`, `fcmMessageId`), and workers that read the JSON themselves. Each
/// passes over the members of the others.
package final class BrowserPush: ComposedPush {
    /// What is encrypted, at most ``payloadLimitBytes``.
    package let payload: [UInt8]
    /// When a push service need not keep it any more.
    package let expiresAt: Timestamp
    /// When the sender's own `TTL` is over, after which nothing is sent; `nil`: it has none, or it is for now or never.
    package let endsAt: Timestamp?
    /// `Urgency`.
    package let urgency: BrowserParts.Urgency
    /// `Topic`: 32 characters; `nil`: it replaces nothing.
    package let replaces: String?
    /// Whether it shows something by itself. Safari ends the permission of pages whose pushes show nothing.
    package let isDisplayed: Bool
    /// What the sender's `Topic` was.
    package let collapseID: String?
    /// The app, by which pauses go.
    package let topic: String

    /// Of a body of 4096 bytes, which every service takes.
    package static let payloadLimitBytes = WebPushEncryptor.plaintextLimit

    package var isPersonal: Bool { false }
    package var priority: PushPriority {
        switch urgency {
        case .veryLow, .low: .low
        case .normal: .conserving
        case .high: .immediate
        }
    }

    package func payload(for registration: RegistrationID) -> [UInt8] { payload }

    /// Builds body and headers of `content` for one app.
    ///
    /// - Throws: ``InvalidMessage`` with both sizes when the body is too long.
    package init(_ content: FCMMessage, in context: PushContext) throws(InvalidMessage) {
        let parts = BrowserParts(of: content)
        payload = JSONValue.object(Self.members(of: parts, in: context)).bytes
        guard payload.count <= Self.payloadLimitBytes else {
            throw InvalidMessage([
                FieldViolation(
                    field: parts.largestField,
                    description: "The push for browsers is too large: it has \(payload.count) bytes, the limit is "
                        + "\(Self.payloadLimitBytes).", cause: .payloadTooLarge)
            ])
        }
        let ownEnd = parts.timeToLive.flatMap { time in context.acceptedAt.map { $0 + time } }
        endsAt = parts.timeToLive == .zero ? nil : ownEnd
        expiresAt = min(context.expiresAt, ownEnd ?? context.expiresAt)
        urgency = parts.urgency
        collapseID = parts.topic ?? (context.collapsesRepeats && parts.isDisplayed ? context.message.rawValue : nil)
        replaces = collapseID.map { ReplacementTopic.text(for: $0, app: context.app.id) }
        isDisplayed = parts.isDisplayed
        topic = context.app.id.rawValue
    }

    private static func members(of parts: BrowserParts, in context: PushContext) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if var notification = parts.notification {
            if parts.isDisplayed {
                members.append(.init("web_push", .number("8030")))
                // Declarative notifications lead somewhere: to the page's own origin when the sender names nothing.
                let target = parts.link ?? "https://\(context.app.id.rawValue)/"
                if !notification.contains(where: { $0.name == "navigate" }) {
                    notification.append(.init("navigate", .string(target)))
                }
                // On the device a repeat takes the place of the first.
                if context.collapsesRepeats, !notification.contains(where: { $0.name == "tag" }) {
                    notification.append(.init("tag", .string(parts.topic ?? context.message.rawValue)))
                }
            }
            members.append(.init("notification", .object(notification)))
        }
        if !parts.data.isEmpty { members.append(.init("data", .object(parts.data))) }
        let options = [
            parts.link.map { JSONValue.Member("link", .string($0)) },
            parts.label.map { JSONValue.Member("analyticsLabel", .string($0.rawValue)) },
        ].compactMap(\.self)
        if !options.isEmpty { members.append(.init("fcmOptions", .object(options))) }
        let sender = context.broadcastTopic.map { "/topics/" + $0.rawValue } ?? String(context.projectNumber)
        members.append(.init("from", .string(sender)))
        members.append(.init("fcmMessageId", .string(context.message.rawValue)))
        if let topic = parts.topic { members.append(.init("collapse_key", .string(topic))) }
        return members
    }
}

extension BrowserParts {
    /// The field that makes up most of the body.
    fileprivate var largestField: String {
        let notification = self.notification.map { JSONValue.object($0).bytes.count } ?? 0
        return notification > JSONValue.object(data).bytes.count ? "message.webpush.notification" : "message.data"
    }
}
