import Crypto
import Foundation
import JSON
import PushModel
import Store

/// An access token as a backend holds it for an hour: `ha_<secret>`. Never stored.
struct AccessToken: Sendable {
    /// The token.
    let text: String
    /// What the store keeps of it.
    let record: AccessTokenRecord

    /// How long a token works. SDKs get a new one 225 seconds before its end.
    static let lifetime = Duration.seconds(3600)

    private static let prefix = "ha_"

    /// Makes a new token of 256 bits from the system's random source.
    init(for keyID: String, at time: Timestamp) {
        var random = SystemRandomNumberGenerator()
        text = Self.prefix + Base64URL.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        record = AccessTokenRecord(
            digest: Self.digest(of: text), keyID: keyID, expiresAt: time + Self.lifetime)
    }

    /// Whether a text has the form of a token.
    static func isToken(_ text: String) -> Bool {
        text.utf8.count == 46 && text.hasPrefix(prefix)
    }

    /// What the store keeps of a token's text.
    static func digest(of text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }
}

extension AccessToken: CustomStringConvertible {
    /// Whose it is only: the text is a secret.
    var description: String { "access token for key \(record.keyID)" }
}
