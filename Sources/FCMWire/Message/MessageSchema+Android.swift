// The types of the v1 `Message` for Android (fcm.v1.json).

extension MessageSchema {
    /// `AndroidConfig`.
    static let android = MessageSchema(
        "AndroidConfig",
        deliveryFields(of: "AndroidConfig") + [
            ("priority", .enumeration(EnumSchema("AndroidMessagePriority", ["NORMAL", "HIGH"]))),
            ("notification", .message(androidNotification)),
        ])

    /// `AndroidConfigV2`.
    static let androidV2 = MessageSchema(
        "AndroidConfigV2",
        deliveryFields(of: "AndroidConfigV2") + [
            ("remote_notification", .message(androidRemoteNotification)),
            ("background_sync", .message(MessageSchema("AndroidBackgroundSyncMessage", []))),
        ])

    /// `AndroidFcmOptions`.
    static let androidOptions = MessageSchema("AndroidFcmOptions", [("analytics_label", .string)])

    /// `AndroidRemoteNotification`.
    static let androidRemoteNotification = MessageSchema(
        "AndroidRemoteNotification",
        [
            ("mutable_content", .bool),
            ("notification", .message(androidNotificationV2)),
            ("use_as_v1_data_message", .bool),
        ])

    /// `AndroidNotification`.
    static let androidNotification = MessageSchema(
        "AndroidNotification",
        notificationFields(of: "AndroidNotification", lightSettings: lightSettings) + [
            (
                "proxy",
                .enumeration(
                    EnumSchema(
                        "AndroidNotification.Proxy", ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]))
            ),
            ("bypass_proxy_notification", .bool),
        ])

    /// `AndroidNotificationV2`.
    static let androidNotificationV2 = MessageSchema(
        "AndroidNotificationV2",
        notificationFields(
            of: "AndroidNotificationV2", lightSettings: light(named: "AndroidNotificationV2.LightSettings"))
            + [("id", .int32)])

    /// `google.type.Color`.
    static let color = MessageSchema(
        "Color", [("red", .float), ("green", .float), ("blue", .float), ("alpha", .float)], package: "google.type.")

    /// `LightSettings`.
    static let lightSettings = light(named: "LightSettings")

    // There are two types of this shape.
    private static func light(named name: String) -> MessageSchema {
        MessageSchema(
            name,
            [("color", .message(color)), ("light_on_duration", .duration), ("light_off_duration", .duration)])
    }

    /// What both versions of the block say about the delivery.
    private static func deliveryFields(of name: String) -> [(name: String, type: FieldType)] {
        [
            ("collapse_key", .string),
            ("ttl", .duration),
            ("restricted_package_name", .string),
            ("data", .stringMap(entry: "\(package)\(name).DataEntry")),
            ("fcm_options", .message(androidOptions)),
            ("direct_boot_ok", .bool),
            ("bandwidth_constrained_ok", .bool),
            ("restricted_satellite_ok", .bool),
        ]
    }

    /// What both versions of the notification have.
    private static func notificationFields(
        of name: String, lightSettings: MessageSchema
    ) -> [(name: String, type: FieldType)] {
        [
            ("title", .string),
            ("body", .string),
            ("icon", .string),
            ("color", .string),
            ("sound", .string),
            ("tag", .string),
            ("click_action", .string),
            ("body_loc_key", .string),
            ("body_loc_args", .list(.string)),
            ("title_loc_key", .string),
            ("title_loc_args", .list(.string)),
            ("channel_id", .string),
            ("ticker", .string),
            ("sticky", .bool),
            ("event_time", .timestamp),
            ("local_only", .bool),
            (
                "notification_priority",
                .enumeration(
                    EnumSchema(
                        "\(name).NotificationPriority",
                        [
                            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT",
                            "PRIORITY_HIGH", "PRIORITY_MAX",
                        ]))
            ),
            ("default_sound", .bool),
            ("default_vibrate_timings", .bool),
            ("default_light_settings", .bool),
            ("vibrate_timings", .list(.duration)),
            (
                "visibility",
                .enumeration(
                    EnumSchema("\(name).Visibility", ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]))
            ),
            ("notification_count", .int32),
            ("light_settings", .message(lightSettings)),
            ("image", .string),
        ]
    }
}
