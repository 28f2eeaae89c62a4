/// The types of FCM's v1 message as Google's JSON front end knows them (fcm.v1.json), told a second time: a fault in the
/// gateway's own table is not mirrored here.
indirect enum GoogleType: Sendable {
    case string, bool, int32, float, duration, timestamp, structure
    case choice(Set<String>)
    case list(GoogleType)
    case texts
    case object([String: GoogleType])

    /// How the front end calls it.
    var name: String {
        switch self {
        case .string, .texts: "TYPE_STRING"
        case .bool: "TYPE_BOOL"
        case .int32: "TYPE_INT32"
        case .float: "TYPE_FLOAT"
        case .duration: "type.googleapis.com/google.protobuf.Duration"
        case .timestamp: "type.googleapis.com/google.protobuf.Timestamp"
        case .structure: "type.googleapis.com/google.protobuf.Struct"
        case .choice: "TYPE_ENUM"
        case .list(let element): element.name
        case .object: "TYPE_MESSAGE"
        }
    }

    /// `SendMessageRequest`.
    static let request = GoogleType.object(["validate_only": .bool, "message": message])

    private static let message = GoogleType.object([
        "name": .string, "data": .texts, "token": .string, "topic": .string, "condition": .string, "fid": .string,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "fcm_options": .object(["analytics_label": .string]), "android": android, "android_v2": androidV2,
        "webpush": .object([
            "headers": .texts, "data": .texts, "notification": .structure,
            "fcm_options": .object(["link": .string, "analytics_label": .string]),
        ]),
        "apns": .object([
            "headers": .texts, "payload": .structure, "live_activity_token": .string,
            "fcm_options": .object(["analytics_label": .string, "image": .string]),
        ]),
    ])

    private static let delivery: [String: GoogleType] = [
        "collapse_key": .string, "ttl": .duration, "restricted_package_name": .string, "data": .texts,
        "fcm_options": .object(["analytics_label": .string]), "direct_boot_ok": .bool,
        "bandwidth_constrained_ok": .bool, "restricted_satellite_ok": .bool,
    ]

    private static let android = GoogleType.object(
        delivery.merging([
            "priority": .choice(["NORMAL", "HIGH"]),
            "notification": .object(
                notification.merging([
                    "proxy": .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
                    "bypass_proxy_notification": .bool,
                ]) { first, _ in first }),
        ]) { first, _ in first })

    private static let androidV2 = GoogleType.object(
        delivery.merging([
            "background_sync": .object([:]),
            "remote_notification": .object([
                "mutable_content": .bool, "use_as_v1_data_message": .bool,
                "notification": .object(notification.merging(["id": .int32]) { first, _ in first }),
            ]),
        ]) { first, _ in first })

    private static let notification: [String: GoogleType] = [
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "click_action": .string, "body_loc_key": .string, "body_loc_args": .list(.string), "title_loc_key": .string,
        "title_loc_args": .list(.string), "channel_id": .string, "ticker": .string, "sticky": .bool,
        "event_time": .timestamp, "local_only": .bool,
        "notification_priority": .choice([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "default_sound": .bool, "default_vibrate_timings": .bool, "default_light_settings": .bool,
        "vibrate_timings": .list(.duration),
        "visibility": .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notification_count": .int32, "image": .string,
        "light_settings": .object([
            "color": .object(["red": .float, "green": .float, "blue": .float, "alpha": .float]),
            "light_on_duration": .duration, "light_off_duration": .duration,
        ]),
    ]
}
