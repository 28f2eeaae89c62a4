import Crypto
import Foundation
import PushModel

/// One-time codes by time (RFC 6238): six digits, steps of 30 seconds, SHA-1, as all authenticator apps have them.
enum OneTimeCode {
    /// The bytes of a key.
    static let keyLength = 20
    private static let stepSeconds: Int64 = 30

    /// A new key.
    static func randomKey() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<keyLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// The step of a code that is right at a time: this one, the one before or after. `nil`: it is wrong.
    static func step(of code: String, key: [UInt8], at time: Timestamp) -> Int64? {
        let now = time.seconds / stepSeconds
        return [now, now - 1, now + 1].first { self.code(key: key, step: $0) == code.filter { !$0.isWhitespace } }
    }

    /// The code of a step.
    static func code(key: [UInt8], step: Int64) -> String {
        let counter = withBigEndianBytes(UInt64(bitPattern: step))
        let mac = Array(
            HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: key)))
        let offset = Int(mac[mac.count - 1] & 0x0f)
        let number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let digits = String(number % 1_000_000)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// The URL that authenticator apps read, mostly from a QR code.
    static func url(key: [UInt8], name: String, issuer: String) -> String {
        "otpauth://totp/\(issuer.urlEncoded):\(name.urlEncoded)?secret=\(base32(key))&issuer=\(issuer.urlEncoded)"
    }

    /// A key as people type it (RFC 4648 §6), without padding.
    static func base32(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        var (text, buffer, bits) = ("", UInt32(0), 0)
        for byte in bytes {
            (buffer, bits) = (buffer << 8 | UInt32(byte), bits + 8)
            while bits >= 5 {
                text.append(alphabet[Int(buffer >> UInt32(bits - 5)) & 31])
                bits -= 5
            }
            buffer &= (1 << UInt32(bits)) - 1
        }
        if bits > 0 { text.append(alphabet[Int(buffer << UInt32(5 - bits)) & 31]) }
        return text
    }

    /// The bytes of a key that a form sends back; `nil`: it is none.
    static func key(base32 text: String) -> [UInt8]? {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        var (bytes, buffer, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for character in text {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            (buffer, bits) = (buffer << 5 | UInt32(value), bits + 5)
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            buffer &= (1 << UInt32(bits)) - 1
        }
        return bytes.count == keyLength ? bytes : nil
    }

    private static func withBigEndianBytes(_ value: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }
    }
}
