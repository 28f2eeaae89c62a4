import COpenSSL

/// The two keys of a browser's push subscription (W3C Push API, `p256dh` and `auth`): what a message to it is encrypted
/// with.
package struct SubscriptionKeys: Hashable, Sendable {
    /// The browser's public key: 65 bytes, an uncompressed point of P-256 (RFC 8291 §3.1).
    package let publicKey: [UInt8]
    /// The authentication secret: 16 bytes (RFC 8291 §3.2).
    package let secret: [UInt8]

    /// The bytes of ``publicKey``.
    package static let publicKeyLength = 65
    /// The bytes of ``secret``.
    package static let secretLength = 16

    /// Puts keys together that were checked before, as a store gives them.
    package init(checkedPublicKey publicKey: [UInt8], secret: [UInt8]) {
        self.publicKey = publicKey
        self.secret = secret
    }

    /// Checks keys that come from a browser: lengths, and that the point lies on the curve, without which an encryption
    /// would tell about the sender's key (RFC 8291 §7).
    ///
    /// - Throws: ``SigningError`` `.notASubscriptionKey` with a message that names `p256dh` or `auth`.
    package init(publicKey: [UInt8], secret: [UInt8]) throws(SigningError) {
        guard publicKey.count == Self.publicKeyLength, publicKey[0] == 4 else {
            throw SigningError(
                .notASubscriptionKey,
                "p256dh must be an uncompressed point of P-256, 65 bytes that begin with 4; it has \(publicKey.count).")
        }
        guard secret.count == Self.secretLength else {
            throw SigningError(.notASubscriptionKey, "auth must have 16 bytes, not \(secret.count).")
        }
        do {
            var key = try AgreementKey()
            try key.readPublicKey(publicKey)
        } catch {
            throw SigningError(.notASubscriptionKey, "p256dh is not a point of the curve P-256.")
        }
        self.init(checkedPublicKey: publicKey, secret: secret)
    }
}
