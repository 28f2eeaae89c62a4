import JSON

/// 16 bytes, held in place.
package struct SixteenBytes: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// Takes exactly 16 bytes.
    package init?(_ bytes: some Sequence<UInt8>) {
        var (high, low, count) = (0 as UInt64, 0 as UInt64, 0)
        for byte in bytes {
            high = high << 8 | low >> 56
            low = low << 8 | UInt64(byte)
            count += 1
        }
        guard count == 16 else { return nil }
        (self.high, self.low) = (high, low)
    }

    /// 128 random bits.
    package init(using random: inout some RandomNumberGenerator) {
        (high, low) = (random.next(), random.next())
    }

    /// The bytes in order.
    package var bytes: [UInt8] {
        [high, low].flatMap { part in (0..<8).map { UInt8(truncatingIfNeeded: part >> (56 - 8 * $0)) } }
    }
}

/// What something is called outside: 128 random bits, 22 characters of `[A-Za-z0-9_-]`. It says nothing of what it names,
/// and can't be guessed from others.
package struct OpaqueID<Named>: Hashable, Sendable, CustomStringConvertible {
    /// The bits.
    package let value: SixteenBytes

    /// Takes stored bits.
    package init(_ value: SixteenBytes) {
        self.value = value
    }

    /// Makes an id.
    package init(using random: inout some RandomNumberGenerator) {
        value = SixteenBytes(using: &random)
    }

    /// Makes an id from the system's random source.
    package static func random() -> Self {
        var random = SystemRandomNumberGenerator()
        return Self(using: &random)
    }

    /// Reads the 22 characters.
    package init?(rawValue: some StringProtocol) {
        guard rawValue.utf8.count == 22, let value = Base64URL.bytes(rawValue).flatMap({ SixteenBytes($0) }) else {
            return nil
        }
        self.value = value
    }

    /// The 22 characters.
    package var rawValue: String { Base64URL.text(value.bytes) }

    /// The 22 characters.
    package var description: String { rawValue }
}

/// The first 16 bytes of an HMAC-SHA256: two of the same text are equal, and who has not the key learns no text from one.
package struct KeyedDigest: Hashable, Sendable {
    /// The bytes.
    package let value: SixteenBytes

    /// Takes 16 bytes.
    package init(_ value: SixteenBytes) {
        self.value = value
    }
}
