/// Percent-encoding of URLs (RFC 3986 §2.1) on bytes: what a redirect needs of it runs for every click.
package enum PercentEncoding {
    /// Encodes all bytes but the unreserved ones `[A-Za-z0-9._~-]` (RFC 3986 §2.3).
    package static func encode(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ isUnreserved($0) }) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 * text.utf8.count)
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends what ``encode(_:)`` makes of a text.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            if isUnreserved(byte) { bytes.append(byte) } else { append(byte, to: &bytes) }
        }
    }

    /// Appends `%` and two digits.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digit(byte >> 4))
        bytes.append(digit(byte & 0xf))
    }

    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10
    }

    /// Decodes once. A `%` without two digits stays as it is; bytes that are no UTF-8 become U+FFFD.
    package static func decode(_ text: String) -> String {
        var scratch: [UInt8] = []
        return decode(Array(text.utf8)[...], scratch: &scratch)
    }

    /// ``decode(_:)`` of bytes; `scratch` saves an allocation for each of many values.
    static func decode(_ bytes: ArraySlice<UInt8>, scratch: inout [UInt8]) -> String {
        guard bytes.contains(UInt8(ascii: "%")) else { return String(decoding: bytes, as: UTF8.self) }
        scratch.removeAll(keepingCapacity: true)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if let byte = escape(in: bytes, at: index) {
                scratch.append(byte)
                index += 3
            } else {
                scratch.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: scratch, as: UTF8.self)
    }

    /// The byte that `%` and two digits at `index` stand for.
    static func escape(in bytes: ArraySlice<UInt8>, at index: Int) -> UInt8? {
        guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.endIndex, let high = hexDigit(bytes[index + 1]),
            let low = hexDigit(bytes[index + 2])
        else { return nil }
        return high << 4 | low
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Whether a byte is an ASCII letter, a digit or one of `-._~`.
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}
