/// A device token as APNs gave it to the app: opaque bytes of any length (Apple: "never assume a size").
package struct DeviceToken: Hashable, Sendable {
    /// The bytes.
    package let bytes: [UInt8]

    /// Takes the bytes; there must be at least one.
    package init?(bytes: [UInt8]) {
        guard !bytes.isEmpty else { return nil }
        self.bytes = bytes
    }

    /// As many hex digits are read at most.
    package static let hexLimit = 4096

    /// What ``init(hex:)`` reads, for the texts of errors.
    package static let hexExpectation = "an even number of hex digits, at most \(hexLimit)"

    /// The fewest bytes of a token that an app may register: APNs has given none with fewer.
    package static let fewestBytes = 32

    /// What ``init(registering:)`` reads, for the texts of errors.
    package static let registeringExpectation = "an even number of hex digits, \(2 * fewestBytes) to \(hexLimit)"

    /// Reads the hex digits that an app registers: as ``init(hex:)``, and at least ``fewestBytes``. Tokens that are in the
    /// store are taken as they are.
    package init?(registering hex: String) {
        self.init(hex: hex)
        guard bytes.count >= Self.fewestBytes else { return nil }
    }

    /// Reads hex digits of either case: an even number of them, at least two, at most ``hexLimit``.
    package init?(hex: String) {
        guard !hex.isEmpty, hex.utf8.count % 2 == 0, hex.utf8.count <= Self.hexLimit else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(hex.utf8.count / 2)
        var high: UInt8?
        for character in hex.utf8 {
            let nibble: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = character - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): nibble = character - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
        self.bytes = bytes
    }

    /// Lower-case hex digits, as they stand in `/3/device/<token>`.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xf)]] }, as: UTF8.self)
    }
}

extension DeviceToken: CustomStringConvertible {
    /// The last six hex digits: device tokens are secrets.
    package var description: String { "…" + String(hex.suffix(6)) }
}
