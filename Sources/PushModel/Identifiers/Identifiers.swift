/// A project: the tenant that owns apps, registrations, keys and messages. 1 to 63 of `[A-Za-z0-9_-]`.
package struct ProjectID: TextIdentifier {
    /// The id as it stands in paths.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of a project id.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_", upTo: 63) else { return nil }
        self.rawValue = rawValue
    }
}

/// An app of a project: the bundle id of an Apple app, the host of a web app. 1 to 255 of `[A-Za-z0-9._-]`.
package struct AppID: TextIdentifier {
    /// The bundle id, or the host.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of a bundle id.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_.", upTo: 255) else { return nil }
        self.rawValue = rawValue
    }
}

/// A topic name without the `/topics/` in front: `[a-zA-Z0-9-_.~%]{1,900}` (fcm.v1.json, `TopicSubscription`).
package struct Topic: TextIdentifier {
    /// FCM's limit: topics that one registration may have.
    package static let limitPerRegistration = 2000

    /// The name.
    package let rawValue: String

    /// Takes `rawValue` when it is a topic name; `/topics/` in front is not part of a name.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_.~%", upTo: 900) else { return nil }
        self.rawValue = rawValue
    }
}

/// A sender's label for reports: `^[a-zA-Z0-9-_.~%]{1,50}$`.
package struct AnalyticsLabel: TextIdentifier {
    /// The label.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of a label.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_.~%", upTo: 50) else { return nil }
        self.rawValue = rawValue
    }
}

/// A registration's public id, a Firebase installation id (FID): 22 base64url characters, the first of `c d e f`.
package struct RegistrationID: TextIdentifier {
    /// The FID.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of a FID.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == 22, rawValue.isMade(of: "-_", upTo: 22), "cdef".contains(rawValue.first!) else {
            return nil
        }
        self.rawValue = rawValue
    }
}

/// Who uses a device, in the words of the project's own user database: 1 to 256 bytes of UTF-8 without control
/// characters. Compared byte for byte.
package struct UserID: TextIdentifier {
    /// The id.
    package let rawValue: String

    /// What ``init(rawValue:)`` takes, for the texts of errors.
    package static let expectation = "1 to 256 bytes of UTF-8 without control characters, not only blanks"

    /// Takes `rawValue` when it has the form of a user's id. One of blanks alone is no id: it comes from a field that
    /// was left empty, and all who left it so would be one user.
    package init?(rawValue: String) {
        guard PrintableText.isShort(rawValue), !rawValue.unicodeScalars.allSatisfy(\.properties.isWhitespace)
        else { return nil }
        self.rawValue = rawValue
    }

    /// Whether there is something to see of it. One of blanks and of characters that show nothing, such as U+200B, comes from
    /// a field that was left empty too.
    package var isVisible: Bool {
        !rawValue.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
                || scalar.properties.generalCategory == .format
        }
    }

    /// Whether both are the same bytes: Swift's strings would also be equal when they only look the same.
    package static func == (lhs: UserID, rhs: UserID) -> Bool {
        lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(byte) }
    }
}

/// What senders hold for one registration, in FCM's form: at most 4096 bytes of `[A-Za-z0-9_:.-]` with a `:` that has
/// at least 8 characters on either side. A secret: it never goes into a log.
package struct RegistrationToken: TextIdentifier {
    /// The token.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of a registration token.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_:.", upTo: 4096), let colon = rawValue.utf8.firstIndex(of: UInt8(ascii: ":")),
            rawValue.utf8[..<colon].count >= 8, rawValue.utf8[colon...].count > 8
        else { return nil }
        self.rawValue = rawValue
    }

    /// The last six characters: tokens are secrets.
    package var description: String { "…" + String(rawValue.suffix(6)) }
}

/// A message's id, the last segment of its `name`: `[A-Za-z0-9:_-]+`, at most 64 characters.
///
/// Ids made here read `0:<microseconds since the epoch>-<16 hex digits>`, so their text order is the order of
/// acceptance and the random part makes them unguessable and unique across nodes. Where a sender is to get a number, the
/// id is one: see ``init(number:)``.
package struct MessageID: TextIdentifier {
    /// The id.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of a message id.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: ":_-", upTo: 64) else { return nil }
        self.rawValue = rawValue
    }

    /// Makes an id for a message accepted at `time`, told apart by `random`.
    package init(acceptedAt time: Timestamp, random: UInt64) {
        let hex = String(random, radix: 16)
        let micros = String(time.milliseconds * 1000 + Int64(random % 1000))
        rawValue = "0:\(micros)-\(String(repeating: "0", count: 16 - hex.count))\(hex)"
    }

    /// Makes an id that is a number of 19 digits, chosen by `random`: the legacy API names messages to topics by an int64.
    package init(number random: UInt64) {
        // From 10^18, the least of 19 digits, to 9 * 10^18, which an Int64 can still hold.
        rawValue = String(1_000_000_000_000_000_000 + random % 8_000_000_000_000_000_000)
    }

    /// The id as a number, when it is one.
    package var number: Int64? { Int64(rawValue) }

    /// 64 bits that stand for the message wherever a number is needed (the seed of its apns-ids).
    ///
    /// FNV-1a over the id: equal for equal ids on every node and in every run.
    package var seed: UInt64 {
        rawValue.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}

/// A registration's number in the store: small, ordered, never reused, never shown to callers.
package struct RegistrationKey: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number, from 1.
    package let rawValue: Int64

    /// Takes the number.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Whether `lhs` was registered before `rhs`.
    package static func < (lhs: RegistrationKey, rhs: RegistrationKey) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

/// The `apns-id` of a push: a canonical UUID.
///
/// Kept as a number: a broadcast makes a million of them, and most are copied often and written once.
package struct PushID: TextIdentifier {
    private let high: UInt64
    private let low: UInt64

    /// Takes `rawValue` when it is a canonical UUID; upper-case digits are lowered.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == 36 else { return nil }
        var bits: (high: UInt64, low: UInt64) = (0, 0)
        for (place, byte) in rawValue.utf8.enumerated() {
            if Self.isDash(at: place) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let nibble = Self.nibble(of: byte) else { return nil }
            bits.high = bits.high << 4 | bits.low >> 60
            bits.low = bits.low << 4 | nibble
        }
        (high, low) = bits
    }

    /// The id of the delivery of one message to one registration: the same each time it is derived, so that a push
    /// repeated after a crash carries the same id. A version 8 UUID (RFC 9562 §5.8).
    package init(message: MessageID, registration: RegistrationKey) {
        self.init(seed: message.seed, registration: registration)
    }

    /// The id of the delivery of the message with this ``MessageID/seed``, which is worth computing once for many.
    package init(seed: UInt64, registration: RegistrationKey) {
        high = (Self.mixed(seed) & ~0xf000) | 0x8000
        low =
            (Self.mixed(seed ^ UInt64(bitPattern: registration.rawValue) &* 0x9e37_79b9_7f4a_7c15) >> 2)
            | (0b10 << 62)
    }

    /// The UUID as 8-4-4-4-12 lower-case hex digits.
    package var rawValue: String {
        String(decoding: text, as: UTF8.self)
    }

    /// The bytes of ``rawValue``.
    package var text: [UInt8] {
        var text = [UInt8](repeating: UInt8(ascii: "-"), count: 36)
        var shift: UInt64 = 64
        var half = high
        for place in 0..<36 where !Self.isDash(at: place) {
            if shift == 0 {
                shift = 64
                half = low
            }
            shift -= 4
            let nibble = UInt8(truncatingIfNeeded: half >> shift) & 0xf
            text[place] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
        }
        return text
    }

    private static func isDash(at place: Int) -> Bool {
        place == 8 || place == 13 || place == 18 || place == 23
    }

    private static func nibble(of byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// The finaliser of SplitMix64: a bijection that spreads near inputs over all 64 bits.
    private static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}
