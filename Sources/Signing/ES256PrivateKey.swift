/// A P-256 private key that signs with ECDSA and SHA-256 (ES256, RFC 7518 §3.4), held by OpenSSL.
///
/// Immutable and safe to share between threads: OpenSSL's `EVP_PKEY` is reference counted and only read here.
public final class ES256PrivateKey: Sendable {
    /// Reads a PKCS#8 key in PEM, the form of Apple's `.p8` files.
    ///
    /// - Throws: ``SigningError`` `.notAPrivateKey` when there is no readable PEM private key, `.notP256` when the key
    ///   is of another kind or curve.
    public init(pem: String) throws(SigningError) {
        fatalError("pending")
    }

    /// Signs `message`: 64 bytes, r ‖ s as JWS wants it (RFC 7518 §3.4), not DER.
    public func signature(for message: [UInt8]) throws(SigningError) -> [UInt8] {
        fatalError("pending")
    }

    /// The public half as a PEM SubjectPublicKeyInfo.
    public var publicKeyPEM: String { fatalError("pending") }
}

/// What can go wrong with a key or a signature.
public struct SigningError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    public let code: Code
    /// A sentence for the operator; never key material.
    public let message: String

    /// The kinds of errors.
    public enum Code: Hashable, Sendable {
        /// The text holds no readable private key.
        case notAPrivateKey
        /// The key is not on the curve P-256.
        case notP256
        /// OpenSSL failed; the message has its error stack.
        case library
    }

    /// Describes an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
