/// What senders hold for a device group, FCM's `notification_key`: it stands wherever a registration token may, and has the
/// form of one. A secret: it never goes into a log.
///
/// 22 base64url characters, the first a `g`, then `:APA91b` and 134 more. No FID begins with `g`, so a key can be told from
/// a registration's token by its look.
package struct NotificationKey: TextIdentifier {
    /// The key.
    package let rawValue: String

    private static let prefix = "g"
    private static let middle = ":APA91b"
    private static let (nameLength, length) = (22, 163)

    /// Takes `rawValue` when it has the form of a notification key.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == Self.length, rawValue.hasPrefix(Self.prefix),
            rawValue.dropFirst(Self.nameLength).hasPrefix(Self.middle),
            rawValue.prefix(Self.nameLength).utf8.allSatisfy({ $0 != UInt8(ascii: ":") }),
            RegistrationToken(rawValue: rawValue) != nil
        else { return nil }
        self.rawValue = rawValue
    }

    /// Makes a key of random characters: more than 900 bits of them.
    package init(using random: inout some RandomNumberGenerator) {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        func text(_ count: Int) -> String {
            String(decoding: (0..<count).map { _ in alphabet[Int.random(in: 0..<64, using: &random)] }, as: UTF8.self)
        }
        let name = Self.prefix + text(Self.nameLength - 1)
        rawValue = name + Self.middle + text(Self.length - Self.nameLength - Self.middle.utf8.count)
    }

    /// The last six characters: keys are secrets.
    package var description: String { "…" + String(rawValue.suffix(6)) }
}

/// What a sender calls a device group, FCM's `notification_key_name`: 1 to 256 bytes of UTF-8 without control characters.
/// Compared byte for byte.
package struct DeviceGroupName: TextIdentifier {
    /// The name.
    package let rawValue: String

    /// What ``init(rawValue:)`` takes, for the texts of errors.
    package static let expectation = "1 to 256 bytes of UTF-8 without control characters"

    /// Takes `rawValue` when it has the form of a name; it is that of a user's id, since most groups are a user's devices.
    package init?(rawValue: String) {
        guard PrintableText.isShort(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// Whether both are the same bytes: Swift's strings would also be equal when they only look the same.
    package static func == (lhs: DeviceGroupName, rhs: DeviceGroupName) -> Bool {
        lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(byte) }
    }
}
