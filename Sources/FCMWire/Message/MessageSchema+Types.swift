// The types of the v1 `Message` that concern all platforms, Apple's and the Web's (fcm.v1.json).

extension MessageSchema {
    /// `Message`.
    package static let message = MessageSchema(
        "Message",
        [
            ("name", .string),
            ("data", .stringMap(entry: package + "Message.DataEntry")),
            ("notification", .message(notification)),
            ("android", .message(android)),
            ("android_v2", .message(androidV2)),
            ("webpush", .message(webpush)),
            ("apns", .message(apns)),
            ("fcm_options", .message(options)),
            ("fid", .string),
            ("token", .string),
            ("topic", .string),
            ("condition", .string),
        ])

    /// `Notification`.
    static let notification = MessageSchema(
        "Notification", [("title", .string), ("body", .string), ("image", .string)])

    /// `FcmOptions`.
    static let options = MessageSchema("FcmOptions", [("analytics_label", .string)])

    /// `ApnsFcmOptions`.
    static let apnsOptions = MessageSchema("ApnsFcmOptions", [("analytics_label", .string), ("image", .string)])

    /// `ApnsConfig`.
    static let apns = MessageSchema(
        "ApnsConfig",
        [
            ("headers", .stringMap(entry: package + "ApnsConfig.HeadersEntry")),
            ("payload", .structure),
            ("fcm_options", .message(apnsOptions)),
            ("live_activity_token", .string),
        ])

    /// `WebpushConfig`.
    static let webpush = MessageSchema(
        "WebpushConfig",
        [
            ("headers", .stringMap(entry: package + "WebpushConfig.HeadersEntry")),
            ("data", .stringMap(entry: package + "WebpushConfig.DataEntry")),
            ("notification", .structure),
            ("fcm_options", .message(webpushOptions)),
        ])

    /// `WebpushFcmOptions`.
    static let webpushOptions = MessageSchema(
        "WebpushFcmOptions", [("link", .string), ("analytics_label", .string)])
}
