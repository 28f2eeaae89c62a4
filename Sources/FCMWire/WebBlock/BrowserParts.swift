package import JSON
package import PushModel

/// What a message says to browsers: `webpush` over the fields for all platforms (fcm.md §2.5). `android` and `apns` are no
/// part of it.
package struct BrowserParts: Sendable {
    /// `webpush.headers`, `TTL`: for how long the push service keeps it; `nil`: as long as the message lives.
    package let timeToLive: Duration?
    /// `webpush.headers`, `Urgency` (RFC 8030 §5.3).
    package let urgency: Urgency
    /// `webpush.headers`, `Topic`: what it replaces (RFC 8030 §5.4).
    package let topic: String?
    /// The notification as the page's worker shows it (`NotificationOptions` and a title); `nil`: there is none.
    package let notification: [JSONValue.Member]?
    /// Custom keys, values always strings. `webpush.data` takes the place of `data`.
    package let data: [JSONValue.Member]
    /// `webpush.fcm_options.link`: what a click opens.
    package let link: String?
    /// `webpush.fcm_options.analytics_label`, otherwise that of the message.
    package let label: AnalyticsLabel?

    /// With regard to the device's power (RFC 8030 §5.3).
    package enum Urgency: String, Hashable, Sendable, CaseIterable {
        case veryLow = "very-low"
        case low, normal, high
    }

    /// Reads the parts of a message that was checked.
    package init(of content: FCMMessage) {
        let block = MessageSchema.message.value("webpush", of: content.source) ?? .null
        let headers = Headers(MessageSchema.webpush.value("headers", of: block))
        timeToLive = BlockLifetime.web(content.fields)
        urgency = headers["urgency"].flatMap(Urgency.init) ?? .normal
        topic = headers["topic"]
        notification = Self.notification(MessageSchema.webpush.value("notification", of: block), over: content)
        // An empty map is none (protobuf's JSON mapping).
        if case .object(let members)? = MessageSchema.webpush.value("data", of: block), !members.isEmpty {
            data = members
        } else {
            data = content.data.map { JSONValue.Member($0.key, .string($0.value)) }
        }
        let options = MessageSchema.webpush.value("fcm_options", of: block) ?? .null
        link = MessageSchema.webpushOptions.text("link", of: options)
        label =
            MessageSchema.webpushOptions.text("analytics_label", of: options).flatMap(AnalyticsLabel.init)
            ?? content.label
    }

    /// `webpush.notification` over title, body and image for all platforms; its other members stay as they are.
    private static func notification(_ own: JSONValue?, over content: FCMMessage) -> [JSONValue.Member]? {
        var members: [JSONValue.Member] = []
        if let common = content.notification {
            members += common.title.map { [.init("title", .string($0))] } ?? []
            members += common.body.map { [.init("body", .string($0))] } ?? []
            members += common.image.map { [.init("image", .string($0))] } ?? []
        }
        if case .object(let own)? = own {
            members.removeAll { member in own.contains { $0.name == member.name } }
            members += own.filter { $0.value != .null }
        }
        return members.isEmpty ? nil : members
    }

    /// Header fields by their names in lower case.
    private struct Headers {
        private var values: [String: String] = [:]

        init(_ value: JSONValue?) {
            guard case .object(let members)? = value else { return }
            for member in members { values[member.name.lowercased()] = member.value.stringValue }
        }

        subscript(name: String) -> String? { values[name] }
    }
}

extension BrowserParts {
    /// Whether it shows anything by itself: a notification with a title.
    package var isDisplayed: Bool { title != nil }

    /// The title of the notification.
    package var title: String? { notification?.first { $0.name == "title" }?.value.stringValue }
}
