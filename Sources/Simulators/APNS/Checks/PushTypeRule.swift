/// What Apple asks of one value of `apns-push-type` (Apple, "Sending notification requests to APNs").
struct PushTypeRule: Sendable {
    /// What the topic carries behind the bundle id.
    var topicSuffix: String
    /// The longest payload.
    var payloadLimitBytes = 4096
    /// Whether priority 10 is an error.
    var refusesImmediate = false
    /// Whether the payload must wake the app and show nothing.
    var isSilent = false
    /// Whether the topic belongs to a certificate, so that no provider key may push to it.
    var needsCertificate = false
    /// Which certificates may be used.
    var certificate = CertificateUse.ofApp

    /// Which certificates may be used for a push type (Apple's table of `apns-push-type`).
    enum CertificateUse: Sendable {
        /// Each that lists the bundle id.
        case ofApp
        /// Only one that lists the whole topic, suffix included.
        case ofTopic
        /// None: it needs a provider token.
        case none
    }

    static let byName: [String: PushTypeRule] = [
        "alert": PushTypeRule(topicSuffix: ""),
        "background": PushTypeRule(topicSuffix: "", refusesImmediate: true, isSilent: true),
        "mdm": PushTypeRule(topicSuffix: "", needsCertificate: true),
        "voip": PushTypeRule(topicSuffix: ".voip", payloadLimitBytes: 5120, certificate: .ofTopic),
        "complication": PushTypeRule(topicSuffix: ".complication", certificate: .ofTopic),
        "fileprovider": PushTypeRule(topicSuffix: ".pushkit.fileprovider", certificate: .none),
        "liveactivity": PushTypeRule(topicSuffix: ".push-type.liveactivity"),
        "location": PushTypeRule(topicSuffix: ".location-query", certificate: .none),
        "pushtotalk": PushTypeRule(topicSuffix: ".voip-ptt"),
        "widgets": PushTypeRule(topicSuffix: ".push-type.widgets", certificate: .none),
        "controls": PushTypeRule(topicSuffix: ".push-type.controls", certificate: .none),
    ]

    /// All suffixes that are not empty.
    static let suffixes: [String] = byName.values.map(\.topicSuffix).filter { !$0.isEmpty }

    /// The bundle id in `topic`, or `nil` when the suffix is not the one of this push type.
    func bundleID(of topic: String) -> Substring? {
        if topicSuffix.isEmpty {
            return Self.suffixes.contains { topic.hasSuffix($0) } ? nil : topic[...]
        }
        guard topic.hasSuffix(topicSuffix), topic.utf8.count > topicSuffix.utf8.count else { return nil }
        return topic.dropLast(topicSuffix.count)
    }
}
