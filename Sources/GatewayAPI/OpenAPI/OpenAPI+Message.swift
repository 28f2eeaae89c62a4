extension OpenAPI {
    /// FCM's Message resource (fcm.v1.json), field by field.
    static let message = Area(
        name: "Message", operations: [],
        schemas: [
            "Message": .request([
                "name": .string.saying("Set by the gateway."), "data": strings, "notification": .named("Notification"),
                "android": .named("AndroidConfig"), "androidV2": .named("AndroidConfigV2"),
                "webpush": .named("WebpushConfig"), "apns": .named("ApnsConfig"), "fcmOptions": .named("FcmOptions"),
                "fid": .string, "token": .string,
                "topic": .text(matching: "^(/topics/)?[a-zA-Z0-9-_.~%]{1,900}$"), "condition": .string,
            ]).saying("Names exactly one of fid, token, topic and condition, unless a target stands beside it."),
            "Notification": .request(["title": .string, "body": .string, "image": .string]),
            "FcmOptions": label, "AndroidFcmOptions": label,
            "ApnsFcmOptions": .request(["analyticsLabel": .string, "image": .string]),
            "WebpushFcmOptions": .request(["analyticsLabel": .string, "link": .string]),
            "ApnsConfig": .request([
                "headers": strings, "payload": anything, "fcmOptions": .named("ApnsFcmOptions"),
                "liveActivityToken": .string,
            ]),
            "WebpushConfig": .request([
                "headers": strings, "data": strings, "notification": anything,
                "fcmOptions": .named("WebpushFcmOptions"),
            ]),
            "AndroidConfig": .request([
                "collapseKey": .string, "priority": .choice(["NORMAL", "HIGH"]), "ttl": .duration,
                "restrictedPackageName": .string, "data": strings, "notification": .named("AndroidNotification"),
                "fcmOptions": .named("AndroidFcmOptions"), "directBootOk": .boolean, "bandwidthConstrainedOk": .boolean,
                "restrictedSatelliteOk": .boolean,
            ]),
            "AndroidConfigV2": .request([
                "collapseKey": .string, "ttl": .duration, "restrictedPackageName": .string, "data": strings,
                "fcmOptions": .named("AndroidFcmOptions"), "directBootOk": .boolean, "bandwidthConstrainedOk": .boolean,
                "restrictedSatelliteOk": .boolean, "remoteNotification": .named("AndroidRemoteNotification"),
                "backgroundSync": .named("AndroidBackgroundSyncMessage"),
            ]).saying("Excludes android."),
            "AndroidRemoteNotification": .request([
                "notification": .named("AndroidNotificationV2"), "mutableContent": .boolean,
                "useAsV1DataMessage": .boolean,
            ]),
            "AndroidBackgroundSyncMessage": .request([:]),
            "AndroidNotification": .request([
                "title": .string, "body": .string, "icon": .string, "color": color, "sound": .string, "tag": .string,
                "clickAction": .string, "bodyLocKey": .string, "bodyLocArgs": texts, "titleLocKey": .string,
                "titleLocArgs": texts, "channelId": .string, "ticker": .string, "sticky": .boolean, "eventTime": .time,
                "localOnly": .boolean, "notificationPriority": priority, "defaultSound": .boolean,
                "defaultVibrateTimings": .boolean, "defaultLightSettings": .boolean, "vibrateTimings": durations,
                "visibility": visibility, "notificationCount": .integer, "lightSettings": .named("LightSettings"),
                "image": .string, "bypassProxyNotification": .boolean,
                "proxy": .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
            ]),
            "AndroidNotificationV2": .request([
                "id": .integer, "title": .string, "body": .string, "icon": .string, "color": color, "sound": .string,
                "tag": .string, "clickAction": .string, "bodyLocKey": .string, "bodyLocArgs": texts,
                "titleLocKey": .string, "titleLocArgs": texts, "channelId": .string, "ticker": .string,
                "sticky": .boolean, "eventTime": .time, "localOnly": .boolean, "notificationPriority": priority,
                "defaultSound": .boolean, "defaultVibrateTimings": .boolean, "defaultLightSettings": .boolean,
                "vibrateTimings": durations, "visibility": visibility, "notificationCount": .integer,
                "lightSettings": .named("LightSettings"), "image": .string,
            ]),
            "LightSettings": .request([
                "color": .named("Color"), "lightOnDuration": .duration, "lightOffDuration": .duration,
            ]),
            "Color": .request(["red": part, "green": part, "blue": part, "alpha": part]),
        ])

    private static let strings = Schema.map(of: .string)
    private static let anything = Schema.map(of: .any)
    private static let texts = Schema.list(of: .string)
    private static let durations = Schema.list(of: .duration)
    private static let label = Schema.request([
        "analyticsLabel": .text(matching: "^[a-zA-Z0-9-_.~%]{0,50}$")
    ])
    private static let color = Schema.text(matching: "^#[0-9a-fA-F]{6}$")
    private static let part = Schema.number.with("minimum", .integer(0)).with("maximum", .integer(1))
    private static let priority = Schema.choice(
        ["UNSPECIFIED", "MIN", "LOW", "DEFAULT", "HIGH", "MAX"].map { "PRIORITY_" + $0 })
    private static let visibility = Schema.choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"])
}
