import COpenSSL

/// Seals short secrets for others that have the same private key: with AES-256-GCM (NIST SP 800-38D) and a key that comes
/// from the private key by HKDF (RFC 5869). Who keeps what was sealed can neither read nor change it.
///
/// Immutable and safe to share between threads.
package final class SealingKey: Sendable {
    private let key: SecretBytes

    private static let keyLength = 32
    private static let nonceLength = 12
    private static let tagLength = 16
    /// What a sealed secret has more than the secret: the nonce before it, the tag behind it.
    package static let overhead = nonceLength + tagLength

    /// Derives a key.
    ///
    /// - Parameters:
    ///   - secret: what only those have who may open what it seals.
    ///   - purpose: tells keys of one secret apart (`info` of RFC 5869).
    init(from secret: SecretBytes, for purpose: String) throws(SigningError) {
        var (input, step, output) = ([UInt8](), Self.zeros, Self.zeros)
        input.reserveCapacity(Self.keyLength)
        secret.withBytes { bytes in for index in bytes.indices { input.append(bytes[index]) } }
        defer {
            input.cleanse()
            step.cleanse()
            output.cleanse()
        }
        let mac = try HMACContext()
        // RFC 5869 §2.2 without a salt, and the first block of §2.3.
        try mac.authenticate(input, with: Self.zeros, into: &step)
        try mac.authenticate(Array(purpose.utf8) + [1], with: step, into: &output)
        let derived = output
        key = SecretBytes(count: Self.keyLength) { buffer in
            for index in derived.indices { unsafe buffer[index] = derived[index] }
        }
    }

    /// Derives a key from one that is random already.
    ///
    /// - Parameters:
    ///   - bytes: the key, as long as its maker likes.
    ///   - purpose: as above.
    package convenience init(of bytes: [UInt8], for purpose: String) throws(SigningError) {
        let secret = SecretBytes(count: bytes.count) { buffer in
            for index in bytes.indices { unsafe buffer[index] = bytes[index] }
        }
        try self.init(from: secret, for: purpose)
    }

    private static let zeros = [UInt8](repeating: 0, count: keyLength)

    /// Seals a secret: nonce, ciphertext, tag.
    ///
    /// - Parameter context: what it is about: it can't be opened as something else.
    package func seal(_ secret: [UInt8], as context: [UInt8]) throws(SigningError) -> [UInt8] {
        ErrorStack.clear()
        let cipher = try CipherContext()
        var sealed = [UInt8](repeating: 0, count: secret.count + Self.overhead)
        var isSealed = false
        key.withBytes { key in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe sealed.withUnsafeMutableBufferPointer { sealed in
                    guard let nonce = sealed.baseAddress else { return }
                    let content = unsafe nonce + Self.nonceLength
                    isSealed =
                        unsafe RAND_bytes(nonce, Int32(Self.nonceLength)) == 1
                        && cipher.encrypt(
                            secret, as: context, key: key.baseAddress, nonce: nonce, to: content,
                            tag: content + secret.count)
                }
            }
        }
        guard isSealed else { throw libraryError("EVP_EncryptFinal_ex") }
        return sealed
    }

    /// Opens what ``seal(_:as:)`` made.
    ///
    /// - Throws: ``SigningError`` `.notSealed` when another key sealed it, as something else, or it was changed.
    package func open(_ sealed: [UInt8], as context: [UInt8]) throws(SigningError) -> [UInt8] {
        ErrorStack.clear()
        let count = sealed.count - Self.overhead
        guard count >= 0 else { throw Self.notSealed }
        let cipher = try CipherContext()
        var secret = [UInt8](repeating: 0, count: count)
        var isOpen = false
        var parts = sealed
        key.withBytes { key in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe parts.withUnsafeMutableBufferPointer { sealed in
                    guard let nonce = sealed.baseAddress else { return }
                    let content = unsafe nonce + Self.nonceLength
                    isOpen = unsafe cipher.decrypt(
                        content, to: &secret, as: context, key: key.baseAddress, nonce: nonce, tag: content + count)
                }
            }
        }
        ErrorStack.clear()
        guard isOpen else { throw Self.notSealed }
        return secret
    }

    private static var notSealed: SigningError {
        SigningError(.notSealed, "The bytes were sealed with another key, or were changed.")
    }

    /// The only owner of an `EVP_CIPHER_CTX`, used for one secret; hence `@safe`.
    @safe private struct CipherContext: ~Copyable {
        /// Owned; non-null from `init` to `deinit`.
        private let pointer: OpaquePointer

        init() throws(SigningError) {
            guard let pointer = unsafe EVP_CIPHER_CTX_new() else { throw libraryError("EVP_CIPHER_CTX_new") }
            unsafe self.pointer = pointer
        }

        deinit {
            unsafe EVP_CIPHER_CTX_free(pointer)
        }

        /// Writes as many bytes as `secret` has to `content`, and ``SealingKey/tagLength`` to `tag`.
        @unsafe func encrypt(
            _ secret: [UInt8], as context: [UInt8], key: UnsafePointer<UInt8>?, nonce: UnsafePointer<UInt8>,
            to content: UnsafeMutablePointer<UInt8>, tag: UnsafeMutablePointer<UInt8>
        ) -> Bool {
            var (written, rest): (Int32, Int32) = (0, 0)
            return unsafe EVP_EncryptInit_ex2(pointer, EVP_aes_256_gcm(), key, nonce, nil) == 1
                && EVP_EncryptUpdate(pointer, nil, &written, context, Int32(context.count)) == 1
                && EVP_EncryptUpdate(pointer, content, &written, secret, Int32(secret.count)) == 1
                && Int(written) == secret.count && EVP_EncryptFinal_ex(pointer, tag, &rest) == 1 && rest == 0
                && EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_GET_TAG, Int32(SealingKey.tagLength), tag) == 1
        }

        /// Reads as many bytes as `secret` has room for from `content`.
        @unsafe func decrypt(
            _ content: UnsafePointer<UInt8>, to secret: inout [UInt8], as context: [UInt8],
            key: UnsafePointer<UInt8>?, nonce: UnsafePointer<UInt8>, tag: UnsafeMutablePointer<UInt8>
        ) -> Bool {
            var (written, rest): (Int32, Int32) = (0, 0)
            let count = Int32(secret.count)
            return unsafe secret.withUnsafeMutableBufferPointer { secret in
                unsafe EVP_DecryptInit_ex2(pointer, EVP_aes_256_gcm(), key, nonce, nil) == 1
                    && EVP_DecryptUpdate(pointer, nil, &written, context, Int32(context.count)) == 1
                    && EVP_DecryptUpdate(pointer, secret.baseAddress, &written, content, count) == 1
                    && EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_SET_TAG, Int32(SealingKey.tagLength), tag) == 1
                    // It writes nothing: GCM has no padding.
                    && EVP_DecryptFinal_ex(pointer, tag, &rest) == 1
            }
        }
    }
}
