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
