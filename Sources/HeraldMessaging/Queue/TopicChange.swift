import Foundation

/// A wish to join or leave a topic, until the gateway has answered it.
struct TopicChange: Hashable, Sendable, Codable {
    /// Tells it from others of the same install.
    let id: UInt64
    let topic: String
    let isSubscription: Bool
    /// How often the gateway did not know the registration that it was asked for.
    var misses = 0

    /// A topic's name as senders and apps write it, without `/topics/`; `nil`: it is none.
    static func name(of text: String) -> String? {
        let name = text.hasPrefix("/topics/") ? String(text.dropFirst("/topics/".count)) : text
        guard (1...900).contains(name.utf8.count), name.utf8.allSatisfy(isPermitted) else { return nil }
        return name
    }

    /// `[a-zA-Z0-9-_.~%]`.
    private static func isPermitted(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: "%"): true
        default: false
        }
    }
}
