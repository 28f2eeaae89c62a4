import COpenSSL

/// The only owner of an `EVP_PKEY` on P-256 that agrees on secrets (ECDH): a pair, or a peer's public half. Made in `init`,
/// freed in `deinit`, never handed out; hence `@safe`.
@safe struct AgreementKey: ~Copyable {
    /// Owned; non-null from `init` to `deinit`.
    private let pointer: OpaquePointer

    /// Takes over an `EVP_PKEY` that is freed here only.
    @unsafe fileprivate init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    /// A key on P-256 that has no halves yet: ``readPublicKey(_:)`` gives it one.
    init() throws(SigningError) {
        ErrorStack.clear()
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            throw libraryError("EVP_PKEY_CTX_new_from_name")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_paramgen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1,
            unsafe EVP_PKEY_paramgen(context, &key) == 1, let key = unsafe key
        else { throw libraryError("EVP_PKEY_paramgen") }
        unsafe pointer = key
    }

    /// Reads a public half in the place of the one before: an uncompressed point, which OpenSSL refuses unless it lies on
    /// the curve. The group of P-256 has cofactor 1, so there is no more to check. After an error the key is of no use
    /// until another half is read.
    mutating func readPublicKey(_ bytes: [UInt8]) throws(SigningError) {
        ErrorStack.clear()
        guard unsafe EVP_PKEY_set1_encoded_public_key(pointer, bytes, bytes.count) == 1 else {
            throw libraryError("EVP_PKEY_set1_encoded_public_key")
        }
    }

    /// Reads a pair from its halves: 32 bytes and an uncompressed point, as test vectors have them.
    init(privateKey: [UInt8], publicKey: [UInt8]) throws(SigningError) {
        ErrorStack.clear()
        guard let key = unsafe herald_P256_pair(privateKey, privateKey.count, publicKey, publicKey.count) else {
            throw libraryError("EVP_PKEY_fromdata")
        }
        unsafe pointer = key
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// The public half as an uncompressed point.
    func writePublicKey(to bytes: inout [UInt8]) throws(SigningError) {
        ErrorStack.clear()
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: SubscriptionKeys.publicKeyLength))
        var length = 0
        // Not EVP_PKEY_get1_encoded_public_key, which exports the key twice, once for the length.
        let isWritten = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_PKEY_get_octet_string_param(
                pointer, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, buffer.baseAddress.map { unsafe $0 + start },
                SubscriptionKeys.publicKeyLength, &length)
        }
        guard isWritten == 1, length == SubscriptionKeys.publicKeyLength else {
            throw libraryError("EVP_PKEY_get_octet_string_param")
        }
    }

    /// The secret that this pair shares with a public key: the x coordinate, 32 bytes (RFC 8291 §3.1), written to the
    /// beginning of `secret`.
    func agree(with peer: borrowing AgreementKey, into secret: inout [UInt8]) throws(SigningError) {
        ErrorStack.clear()
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else {
            throw libraryError("EVP_PKEY_CTX_new_from_pkey")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var length = secret.count
        // Not validated again: it was when it was read.
        let isDerived = unsafe secret.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_PKEY_derive_init(context) == 1
                && EVP_PKEY_derive_set_peer_ex(context, peer.pointer, 0) == 1
                && EVP_PKEY_derive(context, buffer.baseAddress, &length) == 1
        }
        guard isDerived, length == 32 else { throw libraryError("EVP_PKEY_derive") }
    }
}

/// Makes pairs on P-256. Not for use from two threads at once.
@safe struct AgreementKeyGenerator: ~Copyable {
    /// Owned; non-null from `init` to `deinit`.
    private let context: OpaquePointer

    init() throws(SigningError) {
        ErrorStack.clear()
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            throw libraryError("EVP_PKEY_CTX_new_from_name")
        }
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1
        else {
            unsafe EVP_PKEY_CTX_free(context)
            throw libraryError("EVP_PKEY_keygen_init")
        }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// A new pair, of OpenSSL's private random source.
    func make() throws(SigningError) -> AgreementKey {
        ErrorStack.clear()
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key else {
            throw libraryError("EVP_PKEY_generate")
        }
        return unsafe AgreementKey(owning: key)
    }
}
