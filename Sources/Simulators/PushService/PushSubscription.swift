import Crypto
import Foundation

/// A browser's subscription, played by the simulator: it has the private key, so it can read what arrives.
package struct PushSubscription: Sendable {
    /// Where it is pushed to; a secret of the browser and the sender.
    package let endpoint: String
    /// The browser's public key, 65 bytes: `p256dh`.
    package let publicKey: [UInt8]
    /// The secret of the encryption, 16 bytes: `auth`.
    package let secret: [UInt8]
    /// The VAPID key that the page subscribed with, 65 bytes; `nil`: any.
    package let applicationKey: [UInt8]?

    /// The last part of the endpoint.
    package let id: String
    /// Whether the service hands its pushes on through another one, which takes less: Firefox on Android.
    package let isBridged: Bool
    let key: P256.KeyAgreement.PrivateKey

    /// Subscribes as a browser does: a key pair and a secret of its own.
    init(id: String, endpoint: String, applicationKey: [UInt8]?, isBridged: Bool) {
        self.id = id
        self.endpoint = endpoint
        self.isBridged = isBridged
        key = P256.KeyAgreement.PrivateKey()
        publicKey = Array(key.publicKey.x963Representation)
        secret = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        self.applicationKey = applicationKey
    }

    /// What `PushSubscription.toJSON()` gives a page (W3C Push API).
    var json: [String: Any] {
        ["endpoint": endpoint, "keys": ["p256dh": base64URL(publicKey), "auth": base64URL(secret)]]
    }
}

/// base64url without padding (RFC 4648 §5).
func base64URL(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}

/// The bytes of base64url without padding; `nil`: it is none.
func bytes(base64URL text: some StringProtocol) -> [UInt8]? {
    guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") }) else {
        return nil
    }
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    let plain = String(text).replacing("-", with: "+").replacing("_", with: "/")
    return Data(base64Encoded: plain + padding).map(Array.init)
}
