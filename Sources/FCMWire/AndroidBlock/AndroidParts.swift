package import JSON

/// What a message says to Google's push service: the fields for all platforms beside the block for Android (fcm.md §2.1,
/// §2.2). Google merges them itself, so they stay as the sender gave them; the target is no part of it.
package struct AndroidParts: Sendable {
    /// `notification`, `data` and `fcm_options`.
    package let common: [JSONValue.Member]
    /// The block's name: `android`, or `android_v2` when the sender gave that one.
    package let blockName: String
    /// The members of the block, the time to live left out.
    package let block: [JSONValue.Member]
    /// `apns` and `webpush`: of use only where Google knows the platform and we don't.
    package let otherPlatforms: [JSONValue.Member]
    /// `ttl` of the block, whole seconds; `nil`: as long as Google keeps a message.
    package let timeToLive: Duration?
    /// `collapse_key` of the block.
    package let collapseKey: String?
    /// `priority` of the block; what shows something is high by itself.
    package let isHigh: Bool
    /// Whether Android shows something by itself.
    package let isDisplayed: Bool
    /// The bytes of keys and values that Google counts: `data` and `notification`, those of the block where it has its own.
    package let countedBytes: Int

    /// What Google takes of ``countedBytes``.
    package static let limitBytes = PlatformRules.payloadLimitBytes
    /// The longest that Google keeps a message.
    package static let longestTimeToLive = PlatformRules.longestTimeToLive

    /// Reads the parts of a message that was checked.
    package init(of content: FCMMessage) {
        func members(_ names: [String]) -> [JSONValue.Member] {
            content.fields.filter { names.contains($0.name) }.map { JSONValue.Member($0.name, $0.value) }
        }
        common = members(["notification", "data", "fcm_options"])
        otherPlatforms = members(["apns", "webpush"])
        let given = content.fields.last(where: \.isAndroid)
        blockName = given?.name ?? "android"
        let schema: MessageSchema = blockName == "android" ? .android : .androidV2
        let fields = given.map { schema.fields(of: $0.value) } ?? []
        block = fields.filter { $0.name != "ttl" }.map { JSONValue.Member($0.name, $0.value) }
        func value(_ name: String) -> JSONValue? { fields.first { $0.name == name }?.value }
        timeToLive = BlockLifetime.android(content.fields)
        collapseKey = value("collapse_key")?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        let own =
            value("notification")
            ?? value("remote_notification").flatMap {
                MessageSchema.androidRemoteNotification.value("notification", of: $0)
            }
        let notification = own ?? common.first { $0.name == "notification" }?.value
        isDisplayed = notification != nil
        isHigh =
            switch value("priority") {
            case .string(let text)?: text.uppercased() == "HIGH"
            case .number(let text)?: text == "1"
            case .null?, .bool?, .array?, .object?, nil: isDisplayed
            }
        let ownData = value("data")
        // An empty map is none (protobuf's JSON mapping).
        let data = (ownData == .object([]) ? nil : ownData) ?? common.first { $0.name == "data" }?.value
        countedBytes = (data?.textBytes ?? 0) + (notification?.textBytes ?? 0)
    }
}
