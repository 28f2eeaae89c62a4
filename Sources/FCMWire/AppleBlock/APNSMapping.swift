import PushModel

/// THE mapping from FCM to APNs (fcm.md §3.1, §10.3, §10.4, §10.8, §10.15, §10.18; apns.md §2, §4): every place where
/// something of a message goes, as the code reads it.
package enum APNSMapping {
    /// One source and where it goes.
    struct Row: Sendable {
        /// What FCM calls it.
        let source: FCMSource
        /// Where it goes: one place, the image two.
        let places: [Place]
        /// From which setting of `firebaseKeys` on it goes there.
        let since: FirebaseKeys
    }

    /// A place in the payload or among the headers.
    enum Place: Hashable, Sendable {
        /// `aps.alert.<key>`.
        case alert(String)
        /// `aps.<key>`.
        case aps(String)
        /// Beside `aps`.
        case custom(String)
        /// `fcm_options.<key>`, beside `aps`.
        case options(String)
        /// A request header.
        case header(String)
        /// Each member of the object beside `aps`.
        case eachBesideAps
        /// Over everything above: members of `aps` replace those of the same name, the others stand beside it.
        case overAll
    }

    /// The table. Of two values for one place the later row wins.
    static let rows: [Row] = [
        // What is shown. A key replaces its plain sibling on the device, not here.
        row(.title, .alert("title")),
        row(.subtitle, .alert("subtitle")),
        row(.body, .alert("body")),
        row(.titleLocKey, .alert("title-loc-key")),
        row(.titleLocArgs, .alert("title-loc-args")),
        row(.subtitleLocKey, .alert("subtitle-loc-key")),
        row(.subtitleLocArgs, .alert("subtitle-loc-args")),
        row(.bodyLocKey, .alert("loc-key")),
        row(.bodyLocArgs, .alert("loc-args")),
        row(.badge, .aps("badge")),
        row(.sound, .aps("sound")),
        // How it is shown.
        row(.clickAction, .aps("category")),
        row(.threadID, .aps("thread-id")),
        row(.interruptionLevel, .aps("interruption-level")),
        row(.relevanceScore, .aps("relevance-score")),
        row(.targetContentID, .aps("target-content-id")),
        row(.contentAvailable, .aps("content-available")),
        row(.mutableContent, .aps("mutable-content")),
        // Headers.
        row(.priority, .header("apns-priority")),
        row(.timeToLive, .header("apns-expiration")),
        row(.collapseKey, .header("apns-collapse-id")),
        // The sender's own.
        row(.data, .eachBesideAps),
        Row(source: .image, places: [.options("image"), .aps("mutable-content")], since: .standard),
        // FCM's own. A sender's `from` in `apns.payload` comes later and wins.
        row(.messageID, .custom("gcm.message_id"), since: .standard),
        row(.sender, .custom("google.c.sender.id"), since: .standard),
        row(.broadcastTopic, .custom("from"), since: .standard),
        row(.isLabelled, .custom("google.c.a.e"), since: .standard),
        row(.label, .custom("google.c.a.m_l"), since: .standard),
        row(.payload, .overAll),
    ]

    /// The key that is spliced in for each device (`firebaseKeys: full`).
    package static let registrationIDKey = "google.c.fid"

    private static func row(_ source: FCMSource, _ place: Place, since: FirebaseKeys = .none) -> Row {
        Row(source: source, places: [place], since: since)
    }
}

/// What FCM's APIs call the things that go to a device: paths of v1 and of the legacy API, and what the gateway adds.
package enum FCMSource: String, Hashable, Sendable, CaseIterable {
    /// A string.
    case title = "notification.title"
    /// A string.
    case subtitle = "notification.subtitle"
    /// A string.
    case body = "notification.body"
    /// A string.
    case titleLocKey = "notification.title_loc_key"
    /// A list of strings, or its JSON text.
    case titleLocArgs = "notification.title_loc_args"
    /// A string.
    case subtitleLocKey = "notification.subtitle_loc_key"
    /// A list of strings, or its JSON text.
    case subtitleLocArgs = "notification.subtitle_loc_args"
    /// A string.
    case bodyLocKey = "notification.body_loc_key"
    /// A list of strings, or its JSON text.
    case bodyLocArgs = "notification.body_loc_args"
    /// An integer or its digits.
    case badge = "notification.badge"
    /// A name or the dictionary of a critical alert.
    case sound = "notification.sound"
    /// A string.
    case clickAction = "notification.click_action"
    /// A URL.
    case image = "notification.image"
    /// A string.
    case threadID = "notification.thread_id"
    /// One of Apple's levels.
    case interruptionLevel = "notification.interruption_level"
    /// A number.
    case relevanceScore = "notification.relevance_score"
    /// A string.
    case targetContentID = "notification.target_content_id"
    /// `true` or `false`.
    case contentAvailable = "content_available"
    /// `true` or `false`.
    case mutableContent = "mutable_content"
    /// `normal` or `high`.
    case priority
    /// Seconds; only 0 becomes a header, other values are in the message's expiry.
    case timeToLive = "time_to_live"
    /// At most 64 bytes.
    case collapseKey = "collapse_key"
    /// An object whose values are strings.
    case data
    /// An object.
    case payload = "apns.payload"
    /// Filled in by the gateway: the message's id.
    case messageID = "message_id"
    /// Filled in by the gateway: the project number.
    case sender = "sender_id"
    /// Filled in by the gateway: `/topics/` and the topic of a broadcast.
    case broadcastTopic = "from"
    /// Filled in by the gateway: `1` when there is a label.
    case isLabelled = "analytics"
    /// Filled in by the gateway: the label.
    case label = "analytics_label"
}

extension FirebaseKeys {
    /// Whether this setting includes what goes out from `other` on.
    func includes(_ other: FirebaseKeys) -> Bool {
        switch (self, other) {
        case (_, .none), (.standard, .standard), (.full, _): true
        case (.none, _), (.standard, .full): false
        }
    }
}
