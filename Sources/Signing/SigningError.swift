/// What can go wrong with a key, a certificate or a signature.
package struct SigningError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    package let code: Code
    /// A sentence for the operator; never key material.
    package let message: String

    /// The kinds of errors.
    package enum Code: Hashable, Sendable {
        /// The text holds no readable private key.
        case notAPrivateKey
        /// The key is not on the curve P-256.
        case notP256
        /// The key is not an RSA key, or too short.
        case notRSA
        /// A browser's key is none.
        case notASubscriptionKey
        /// More than a push message may have.
        case tooLong
        /// There is no readable certificate, or it says nothing about push.
        case notACertificate
        /// The private key is not the one of the certificate.
        case keyMismatch
        /// The key is encrypted, and no password was given.
        case passwordNeeded
        /// The password does not open the file.
        case wrongPassword
        /// The file is encrypted with an algorithm that this OpenSSL does not offer.
        case unsupportedEncryption
        /// What is to be opened was sealed with another key, or changed.
        case notSealed
        /// OpenSSL failed; the message has its error stack.
        case library
    }

    /// Describes an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
