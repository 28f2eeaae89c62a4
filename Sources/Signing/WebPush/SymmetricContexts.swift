import COpenSSL

/// The only owner of an `EVP_MAC_CTX` for HMAC-SHA-256 (RFC 2104), used for one message after the other; hence `@safe`.
@safe struct HMACContext: ~Copyable {
    /// Owned; non-null from `init` to `deinit`.
    private let context: OpaquePointer

    init() throws(SigningError) {
        ErrorStack.clear()
        let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
        // The context keeps a reference of its own.
        defer { unsafe EVP_MAC_free(algorithm) }
        guard let context = unsafe EVP_MAC_CTX_new(algorithm) else { throw libraryError("EVP_MAC_CTX_new") }
        var digest = Array("SHA256".utf8CString)
        let isSet = unsafe digest.withUnsafeMutableBufferPointer { name in
            var parameters = unsafe [
                OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name.baseAddress, 0),
                OSSL_PARAM_construct_end(),
            ]
            return unsafe EVP_MAC_CTX_set_params(context, &parameters)
        }
        guard isSet == 1 else {
            unsafe EVP_MAC_CTX_free(context)
            throw libraryError("EVP_MAC_CTX_set_params")
        }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_MAC_CTX_free(context)
    }

    /// HMAC of `message`: 32 bytes, which `code` has room for.
    func authenticate(_ message: [UInt8], with key: [UInt8], into code: inout [UInt8]) throws(SigningError) {
        var length = 0
        let isMade = unsafe code.withUnsafeMutableBufferPointer { code in
            unsafe EVP_MAC_init(context, key, key.count, nil) == 1
                && EVP_MAC_update(context, message, message.count) == 1
                && EVP_MAC_final(context, code.baseAddress, &length, code.count) == 1
        }
        guard isMade, length == 32 else { throw libraryError("EVP_MAC_final") }
    }
}

/// The only owner of an `EVP_CIPHER_CTX` for AES-128-GCM (NIST SP 800-38D), used for one message after the other; hence
/// `@safe`.
@safe struct GCMContext: ~Copyable {
    /// Owned; non-null from `init` to `deinit`.
    private let context: OpaquePointer
    private static let tagLength = 16

    init() throws(SigningError) {
        ErrorStack.clear()
        let algorithm = unsafe EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
        // The context keeps a reference of its own.
        defer { unsafe EVP_CIPHER_free(algorithm) }
        guard let context = unsafe EVP_CIPHER_CTX_new() else { throw libraryError("EVP_CIPHER_CTX_new") }
        guard unsafe EVP_EncryptInit_ex2(context, algorithm, nil, nil, nil) == 1 else {
            unsafe EVP_CIPHER_CTX_free(context)
            throw libraryError("EVP_EncryptInit_ex2")
        }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
    }

    /// Appends the encryption of `plaintext` and a delimiter, then the tag.
    ///
    /// - Parameters:
    ///   - key: its first 16 bytes count.
    ///   - nonce: its first 12 bytes count.
    func seal(
        _ plaintext: [UInt8], delimiter: UInt8, key: [UInt8], nonce: [UInt8], onto body: inout [UInt8]
    ) throws(SigningError) {
        let start = body.count
        body += plaintext
        body.append(delimiter)
        let count = Int32(body.count - start)
        body.append(contentsOf: repeatElement(0, count: Self.tagLength))
        let isSealed = unsafe body.withUnsafeMutableBufferPointer { buffer -> Bool in
            guard let base = buffer.baseAddress else { return false }
            let content = unsafe base + start
            var written: Int32 = 0
            var rest: Int32 = 0
            // In place: input and output of GCM may be the same bytes.
            return unsafe EVP_EncryptInit_ex2(context, nil, key, nonce, nil) == 1
                && EVP_EncryptUpdate(context, content, &written, content, count) == 1 && written == count
                && EVP_EncryptFinal_ex(context, content + Int(count), &rest) == 1 && rest == 0
                && EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), content + Int(count)) == 1
        }
        guard isSealed else { throw libraryError("EVP_EncryptFinal_ex") }
    }
}
