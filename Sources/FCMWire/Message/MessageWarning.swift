import JSON
package import PushModel

/// What a message most likely does not mean, though no rule forbids it. It is accepted, and its sender told.
package struct MessageWarning: Hashable, Sendable {
    /// What programs tell warnings apart by; the names are stable.
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// A key of `aps` or `alert` that Apple does not have and that is nearly one it has.
        case misspelledKey = "MISSPELLED_KEY"
        /// Blocks of other platforms, and nothing for one that the message goes to.
        case onlyOtherPlatforms = "ONLY_OTHER_PLATFORMS"
        /// `apns-expiration` is in the past.
        case expired = "EXPIRED"
        /// The payload is larger than some push services of browsers, and what they hand it to, take.
        case largePayload = "LARGE_PAYLOAD"
    }

    /// Why.
    package let reason: Reason
    /// The field.
    package let field: String
    /// A sentence for the sender.
    package let description: String

    /// Above so many bytes some push services of browsers fail: what Mozilla hands to Android grows by a third on the way
    /// (webpush.md §3).
    package static let safeBrowserBytes = 2700

    /// A payload that not all browsers get; `nil`: all do.
    ///
    /// - Parameter app: the app as reports name it.
    package static func largePayload(of app: String, bytes: Int) -> MessageWarning? {
        guard bytes > safeBrowserBytes else { return nil }
        return MessageWarning(
            reason: .largePayload, field: "message",
            description:
                "The push for browsers of \(app) has \(bytes) bytes: above \(safeBrowserBytes) some services refuse it, "
                + "or lose it on the way to Android.")
    }
}

extension FCMMessage {
    /// As many keys are compared with Apple's at most: a payload full of keys must not cost more than others.
    private static let keyLimit = 20

    /// What its sender may want to know of a message that is accepted at `time`, whomever it goes to.
    package func warnings(acceptedAt time: Timestamp) -> [MessageWarning] {
        keyWarnings + expirationWarnings(at: time)
    }

    private var keyWarnings: [MessageWarning] {
        guard let aps = apns.payload?["aps"] else { return [] }
        let path = "message.apns.payload.aps"
        return Self.misspelled(in: aps, among: APSKind.apsKeys, at: path)
            + (aps["alert"].map { Self.misspelled(in: $0, among: APSKind.alertKeys, at: "\(path).alert") } ?? [])
    }

    private static func misspelled(
        in value: JSONValue, among known: [String: APSKind], at path: String
    ) -> [MessageWarning] {
        guard case .object(let members) = value else { return [] }
        let strange = members.lazy.filter { known[$0.name] == nil && $0.value != .null }
        return strange.prefix(keyLimit).compactMap { member in
            Spelling.closest(to: member.name, among: Array(known.keys)).map { meant in
                MessageWarning(
                    reason: .misspelledKey, field: "\(path).\(member.name.excerpt)",
                    description: "Apple has no key \(member.name.excerpt): did you mean \(meant)? It is sent as it is.")
            }
        }
    }

    /// What a message with blocks of other platforms alone is on this one; `nil`: it says something there, or nothing
    /// anywhere.
    package func emptyWarning(on platform: Platform) -> MessageWarning? {
        let own = Self.blocks[platform] ?? []
        let others = Self.blocks.values.joined().filter { !own.contains($0) }
        guard let first = fields.first(where: { others.contains($0.name) })?.name,
            !fields.contains(where: { (["notification", "data"] + own).contains($0.name) })
        else { return nil }
        let description =
            switch platform {
            case .apple:
                "The message has nothing for Apple's devices: they get an empty background push. Add notification, data "
                    + "or apns."
            case .android:
                "The message has nothing for Android: its apps get an empty data message. Add notification, data or "
                    + "android."
            case .web:
                "The message has nothing for browsers: their pages get a push without content, and Safari none. Add "
                    + "notification, data or webpush."
            }
        return MessageWarning(reason: .onlyOtherPlatforms, field: "message.\(first)", description: description)
    }

    /// The fields that are for one platform.
    private static let blocks: [Platform: [String]] = [
        .apple: ["apns"], .android: ["android", "android_v2"], .web: ["webpush"],
    ]

    private func expirationWarnings(at time: Timestamp) -> [MessageWarning] {
        guard case .until(let end)? = apns.headers.expiration, end <= time else { return [] }
        return [
            MessageWarning(
                reason: .expired, field: "message.apns.headers.apns-expiration",
                description: "apns-expiration is in the past: the message is tried once. It is a time in seconds since "
                    + "1970; 0 says that one attempt is meant.")
        ]
    }
}
