import Synchronization

/// A P-256 private key that signs with ECDSA and SHA-256 (ES256, RFC 7518 §3.4), held by OpenSSL.
///
/// Immutable and safe to share between threads: signatures take turns. A provider token is signed every 45 minutes and a
/// token for Web Push every six hours, so signers never wait.
package final class ES256PrivateKey: Sendable {
    private let key: Mutex<PrivateKey>

    /// The public half as a PEM SubjectPublicKeyInfo.
    package let publicKeyPEM: String
    /// The public half as an uncompressed point: 65 bytes, the form of a browser's `applicationServerKey`.
    package let publicPoint: [UInt8]

    /// Reads a PKCS#8 key in PEM, the form of Apple's `.p8` files.
    ///
    /// - Throws: ``SigningError`` `.notAPrivateKey` when there is no readable PEM private key (an encrypted one is not
    ///   readable: no one can be asked for its password), `.notP256` when the key is of another kind or curve.
    package init(pem: String) throws(SigningError) {
        let key = try PrivateKey(pem: pem)
        guard key.isOnP256 else {
            throw SigningError(.notP256, "The key is \(key.kind); it must be an elliptic-curve key on P-256.")
        }
        publicKeyPEM = try key.publicKeyPEM()
        publicPoint = try key.publicPoint()
        self.key = Mutex(key)
    }

    /// Makes a key.
    ///
    /// - Returns: the key as PKCS#8 in PEM, not encrypted: what ``init(pem:)`` reads.
    package static func generatedPEM() throws(SigningError) -> String {
        try PrivateKey.generatedOnP256().pem()
    }

    /// What seals secrets that only those can open who have this key.
    ///
    /// - Parameter purpose: tells keys for different secrets apart.
    package func sealingKey(for purpose: String) throws(SigningError) -> SealingKey {
        let result: Result<SecretBytes, SigningError> = key.withLock { key in
            Result { () throws(SigningError) in try key.scalar() }
        }
        return try SealingKey(from: try result.get(), for: purpose)
    }

    /// Signs `message`: 64 bytes, r ‖ s as JWS wants it (RFC 7518 §3.4), not DER.
    package func signature(for message: [UInt8]) throws(SigningError) -> [UInt8] {
        // The result leaves the lock as a value because a typed error doesn't pass through every withLock overload.
        let result: Result<[UInt8], SigningError> = key.withLock { key in
            Result { () throws(SigningError) in try key.signature(for: message) }
        }
        return try result.get()
    }
}
