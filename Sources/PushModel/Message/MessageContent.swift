package import JSON

/// What a v1 `Message` says beside its target, decoded and checked (fcm.v1.json, `Message`).
///
/// `source` is the message as the sender wrote it, and the other fields are read from it: ``init(source:)`` at the
/// door and ``init(stored:)`` from the store read alike, and only the door refuses.
package struct MessageContent: Sendable {
    /// The `message` object of the request, members in the sender's order, of duplicates the last.
    package let source: JSONValue
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

    /// A platform that a message may have a block for and that nothing is sent to.
    package enum OtherPlatform: String, Hashable, Sendable, CaseIterable {
        /// `android` or `android_v2`.
        case android
        /// `webpush`.
        case webpush
    }

    /// The platforms that the message has blocks for and that nothing is sent to: the blocks were checked and are kept in
    /// ``source``.
    package var otherPlatforms: [OtherPlatform] {
        let names = Set(MessageSchema.message.fields(of: source).map(\.name))
        return OtherPlatform.allCases.filter { platform in
            switch platform {
            case .android: names.contains("android") || names.contains("android_v2")
            case .webpush: names.contains("webpush")
            }
        }
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

/// APNs request headers that a sender may set, checked (apns.md §2).
package struct APNSHeaders: Hashable, Sendable {
    /// `apns-push-type`.
    package var pushType: PushType?
    /// `apns-topic`.
    package var topic: String?
    /// `apns-priority`.
    package var priority: APNSPriority?
    /// `apns-expiration`.
    package var expiration: APNSExpiration?
    /// `apns-collapse-id`, 1 to 64 bytes.
    package var collapseID: String?
    /// `apns-id`, only for a single registration.
    package var id: APNSID?

    /// No header set.
    package init() {}
}

/// Why a message was refused, in FCM's terms: violations in the order of the text, at least one.
package struct InvalidMessage: Error, Hashable, Sendable {
    /// As many violations are listed at most: a request full of mistakes must not get an answer larger than itself.
    package static let violationLimit = 20

    /// What is wrong, field by field.
    package let violations: [FieldViolation]
    /// Whether FCM answers with an FcmError detail (a rule of FCM's) or with a bare BadRequest (a rule of the JSON
    /// front end: unknown name, wrong type).
    package let isFrontEnd: Bool

    /// Describes a refusal; of more violations than ``violationLimit`` the first ones count.
    package init(_ violations: [FieldViolation], isFrontEnd: Bool = false) {
        self.violations = Array(violations.prefix(Self.violationLimit))
        self.isFrontEnd = isFrontEnd
    }
}

/// One wrong field (google.rpc.BadRequest.FieldViolation).
package struct FieldViolation: Hashable, Sendable {
    /// The path of the field, such as `message.apns.payload.aps.badge`.
    package let field: String
    /// What is wrong with it, a sentence for the sender.
    package let description: String
    /// What programs may want to tell from other violations; `nil`: the field says it.
    package let cause: Cause?

    /// What programs may want to tell from other violations.
    package enum Cause: Hashable, Sendable {
        /// The schema has no such name.
        case unknownField
        /// The value is of another type.
        case wrongType
        /// The finished payload, or the part for another platform, is over its limit.
        case payloadTooLarge
    }

    /// Describes a violation.
    package init(field: String, description: String, cause: Cause? = nil) {
        self.field = field
        self.description = description
        self.cause = cause
    }

    /// Whether both say the same of the same field; the cause is the same then.
    package static func == (lhs: FieldViolation, rhs: FieldViolation) -> Bool {
        lhs.field == rhs.field && lhs.description == rhs.description
    }

    /// Hashes what the two say.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(field)
        hasher.combine(description)
    }
}

extension [FieldViolation] {
    /// Adds a violation, unless there are as many as are listed.
    mutating func note(_ field: String, _ description: String, cause: FieldViolation.Cause? = nil) {
        guard count < InvalidMessage.violationLimit else { return }
        append(FieldViolation(field: field, description: description, cause: cause))
    }
}
