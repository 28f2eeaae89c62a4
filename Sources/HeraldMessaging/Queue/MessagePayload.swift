import Foundation

/// The gateway's keys in the payload of a push.
struct MessagePayload: Sendable {
    /// `gcm.message_id`; `nil`: the push is not of a gateway that says it (`firebaseKeys: none`), or of another service.
    let messageID: String?
    /// `fcm_options.image`.
    let image: URL?

    init(_ information: [AnyHashable: Any]) {
        messageID = (information["gcm.message_id"] as? String).flatMap { $0.isEmpty ? nil : $0 }
        let options = information["fcm_options"] as? [AnyHashable: Any]
        image = (options?["image"] as? String).flatMap(URL.init(string:)).flatMap { $0.scheme == "https" ? $0 : nil }
    }
}
