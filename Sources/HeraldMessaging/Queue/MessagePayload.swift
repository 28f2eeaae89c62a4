import Foundation

/// The gateway's keys in the payload of a push.
struct MessagePayload: Sendable {
    /// `gcm.message_id`; `nil`: the push is not of a gateway that says it (`firebaseKeys: none`), or of another service.
    let messageID: String?
    /// The same where it is an id of a gateway; Google's own are not, and nothing is to be reported of their messages.
    var reportedID: String? { messageID.flatMap { Self.isOfGateway($0) ? $0 : nil } }
    /// `google.c.sender.id`: the number of the project that sent it.
    let senderID: String?
    /// `fcm_options.image`.
    let image: URL?

    init(_ information: [AnyHashable: Any]) {
        messageID = (information["gcm.message_id"] as? String).flatMap { $0.isEmpty ? nil : $0 }
        senderID = information["google.c.sender.id"] as? String
        let options = information["fcm_options"] as? [AnyHashable: Any]
        image = (options?["image"] as? String).flatMap(URL.init(string:)).flatMap { $0.scheme == "https" ? $0 : nil }
    }

    /// Whether it may be of the project of an app, as far as both say whose they are.
    func isOf(_ options: HeraldOptions) -> Bool {
        guard let senderID, let own = options.senderID else { return true }
        return senderID == own
    }

    /// `[A-Za-z0-9:_-]{1,64}`, see the article API.
    private static func isOfGateway(_ id: String) -> Bool {
        (1...64).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
                case UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}
