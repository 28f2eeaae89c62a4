package import JSON
package import PushModel

/// What a v1 `Message` says beside its target, decoded and checked (fcm.v1.json, `Message`).
///
/// `source` is the message as the sender wrote it, and the other fields are read from it: ``init(source:bytes:)`` of a
/// request and ``init(stored:)`` of the store read alike, and only the first refuses. Read once, and shared by all who
/// handle the message.
package final class FCMMessage: Sendable {
    /// The `message` object of the request, members in the sender's order, of duplicates the last.
    package let source: JSONValue
    /// The fields of ``source``.
    let fields: [MessageSchema.Field]
    /// The bytes of ``source``, where the request had them as they are to be stored.
    private let sourceBytes: [UInt8]?
    /// What it was composed to for its checks; `nil`: it was not checked here.
    private let checkedParts: AppleParts?
    /// The basic template for all platforms.
    package let notification: NotificationTemplate?
    /// Custom keys, values always strings, in the sender's order.
    package let data: [DataEntry]
    /// The `apns` block.
    package let apns: APNSConfig
    /// `apns.fcm_options.analytics_label`, otherwise `fcm_options.analytics_label`.
    package let label: AnalyticsLabel?

    /// FCM's notification template.
    package struct NotificationTemplate: Hashable, Sendable {
        /// `title`.
        package var title: String?
        /// `body`.
        package var body: String?
        /// `image`, a URL.
        package var image: String?
    }

    /// A platform beside Apple's that a message may have a block for.
    package enum OtherPlatform: String, Hashable, Sendable, CaseIterable {
        /// `android` or `android_v2`.
        case android
        /// `webpush`.
        case webpush
    }

    /// Whether the message has a block for Apple's devices.
    package var hasAppleBlock: Bool { fields.contains { $0.name == "apns" } }

    /// The platforms beside Apple's that the message has blocks for: they were checked and are kept in ``source``.
    package var otherPlatforms: [OtherPlatform] {
        let names = Set(fields.map(\.name))
        return OtherPlatform.allCases.filter { platform in
            switch platform {
            case .android: names.contains("android") || names.contains("android_v2")
            case .webpush: names.contains("webpush")
            }
        }
    }

    init(_ source: JSONValue, _ bytes: [UInt8]?, _ reader: MessageReader, _ checkedParts: AppleParts?) {
        self.source = source
        sourceBytes = bytes
        fields = reader.fields
        notification = reader.notification
        data = reader.data
        apns = reader.apns
        label = reader.appleLabel ?? reader.commonLabel
        self.checkedParts = checkedParts
    }

    /// One custom key.
    package struct DataEntry: Hashable, Sendable {
        /// The key; never a reserved one.
        package var key: String
        /// The value.
        package var value: String
    }

    /// The `apns` block of a message.
    package struct APNSConfig: Sendable {
        /// Header values as given, names in lower case, checked.
        package var headers: APNSHeaders
        /// `payload`: an object, or `nil` when absent.
        package var payload: JSONValue?
        /// `fcm_options.image`.
        package var image: String?
        /// `live_activity_token`: the Live Activity's own token, to which the push goes instead of the device's.
        package var liveActivityToken: DeviceToken?
    }
}

// MARK: - What store and delivery ask for

extension FCMMessage: MessageContent {
    /// The content of an accepted message: as it was decoded at accept, otherwise read from the stored bytes.
    package static func content(of body: MessageBody) throws(UnreadableContent) -> FCMMessage {
        switch body {
        case .decoded(let content as FCMMessage): return content
        case .decoded, .stored:
            do {
                return FCMMessage(stored: try JSONValue(parsing: body.bytes))
            } catch {
                throw UnreadableContent()
            }
        }
    }

    package var bytes: [UInt8] { sourceBytes ?? source.bytes }

    package var isDisplayed: Bool { (checkedParts ?? AppleParts(of: self)).isDisplayed }

    package var pushID: PushID? { apns.headers.id }

    package var activityToken: DeviceToken? { apns.liveActivityToken }

    /// The time to live that the sender asked for on a platform, counted from `time`: `apns-expiration`, `android.ttl`, or the
    /// `TTL` of `webpush.headers`. As at FCM none of them says anything to another platform.
    package func timeToLive(acceptedAt time: Timestamp, on platform: Platform) -> TimeToLive {
        switch platform {
        case .apple: appleTimeToLive(acceptedAt: time)
        case .android: BlockLifetime.android(fields).map(TimeToLive.init) ?? .fourWeeks
        case .web: BlockLifetime.web(fields).map(TimeToLive.init) ?? .fourWeeks
        }
    }

    /// `0` and times that have passed mean ``TimeToLive/once``, as at APNs. A push type with a default of its own
    /// (Push to Talk: once) has it when the sender asked for nothing.
    private func appleTimeToLive(acceptedAt time: Timestamp) -> TimeToLive {
        switch apns.headers.expiration ?? apns.headers.namedPushType?.defaultExpiration {
        case nil: .standard
        case .once: .once
        case .until(let end): end > time ? .lasting(min(end - time, TimeToLive.limit)) : .once
        }
    }
}

extension TimeToLive {
    /// A duration from accept on; none means now or never.
    fileprivate init(_ duration: Duration) {
        self = duration > .zero ? .lasting(min(duration, Self.limit)) : .once
    }
}
