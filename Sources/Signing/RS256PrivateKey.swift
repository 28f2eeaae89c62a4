import Synchronization

/// An RSA private key that signs with PKCS #1 v1.5 and SHA-256 (RS256, RFC 7518 §3.3), held by OpenSSL.
///
/// Immutable and safe to share between threads: signatures take turns. An access token is asked for every 45 minutes.
package final class RS256PrivateKey: Sendable {
    private let key: Mutex<PrivateKey>

    /// Reads a PKCS#8 key in PEM, the form of `private_key` in a service account's file.
    ///
    /// - Throws: ``SigningError`` `.notAPrivateKey` when there is no readable PEM private key, `.notRSA` when the key is of
    ///   another kind or has less than 2048 bits.
    package init(pem: String) throws(SigningError) {
        let key = try PrivateKey(pem: pem)
        guard key.rsaBits >= 2048 else {
            throw SigningError(.notRSA, "The key is \(key.kind); it must be an RSA key of at least 2048 bits.")
        }
        self.key = Mutex(key)
    }

    /// Signs `message`: as many bytes as the key's modulus has.
    package func signature(for message: [UInt8]) throws(SigningError) -> [UInt8] {
        // The result leaves the lock as a value because a typed error doesn't pass through every withLock overload.
        let result: Result<[UInt8], SigningError> = key.withLock { key in
            Result { () throws(SigningError) in try key.encodedSignature(for: message) }
        }
        return try result.get()
    }
}
