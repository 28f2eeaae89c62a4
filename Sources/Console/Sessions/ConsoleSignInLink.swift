import Crypto
import Foundation
import JSON
package import PushModel
package import Store

/// A link that signs an operator in once. Shown once, never stored.
package struct ConsoleSignInLink: Sendable {
    /// How long it works.
    package static let lifetime: Duration = .seconds(15 * 60)

    /// What the store keeps of it.
    package let record: SignInLink
    private let secret: String

    /// Makes a link from the system's random source.
    package init(for name: OperatorName, at time: Timestamp) {
        secret = SessionSecret.random()
        record = SignInLink(
            digest: SessionSecret.digest(of: secret), name: name, expiresAt: time + Self.lifetime)
    }

    /// The link below the URL of a gateway, where the console is at `path`.
    package func url(below publicURL: String, path: String) -> String { "\(publicURL)\(path)/link/\(secret)" }
}

/// Secrets of links and sessions: 256 bits of the system's generator, which is cryptographically secure.
enum SessionSecret {
    /// A new secret, as text for URLs and cookies.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// A new public id.
    static func randomID() -> String { String(random().prefix(12)) }

    /// What the store keeps of a secret.
    static func digest(of secret: String) -> [UInt8] { Array(SHA256.hash(data: Data(secret.utf8))) }

    /// The token that forms of a session carry: a page of another origin can't know it.
    static func formToken(of secret: String) -> String {
        Base64URL.text(
            HMAC<SHA256>.authenticationCode(for: Data("form".utf8), using: SymmetricKey(data: Data(secret.utf8))))
    }

    /// Whether a form carries the token of a session. Takes the same time wherever the two differ.
    static func isFormToken(_ text: String, of secret: String) -> Bool {
        guard let bytes = Base64URL.bytes(text) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            bytes, authenticating: Data("form".utf8), using: SymmetricKey(data: Data(secret.utf8)))
    }
}
