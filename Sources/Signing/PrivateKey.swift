import COpenSSL

/// The only owner of an `EVP_PKEY`: made in `init`, freed in `deinit`, never handed out; hence `@safe`.
@safe struct PrivateKey: ~Copyable {
    /// Owned; non-null from `init` to `deinit`.
    private let pointer: OpaquePointer

    /// Reads the first private key in a PEM text, whatever its kind.
    ///
    /// - Parameter password: opens an encrypted key; `nil`: an encrypted key is `.notAPrivateKey`.
    init(pem: String, password: String? = nil) throws(SigningError) {
        ErrorStack.clear()
        var text = Array(pem.utf8)
        defer { text.cleanse() }
        guard let length = Int32(exactly: text.count) else {
            throw SigningError(.notAPrivateKey, "The text is too long for a key.")
        }
        var prompt = PasswordPrompt(password: password.map { Array($0.utf8) })
        defer { prompt.password?.cleanse() }
        let read = unsafe text.withUnsafeBytes { bytes -> OpaquePointer? in
            // The BIO reads from `bytes` and is freed before they go.
            guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, length) else { return nil }
            defer { unsafe BIO_free(source) }
            return unsafe withUnsafeMutablePointer(to: &prompt) { prompt in
                unsafe PEM_read_bio_PrivateKey(source, nil, answerPrompt, prompt)
            }
        }
        guard let read = unsafe read else {
            throw Self.unreadable(prompt, ErrorStack.drainCodes())
        }
        unsafe pointer = read
    }

    private static func unreadable(_ prompt: PasswordPrompt, _ codes: ErrorStack.Codes) -> SigningError {
        guard prompt.wasShown else {
            return SigningError(.notAPrivateKey, "The text holds no readable PEM private key (\(codes.text)).")
        }
        guard prompt.password != nil else {
            return SigningError(
                .notAPrivateKey, "The key is encrypted; Herald reads only unencrypted keys, as Apple issues them.")
        }
        return codes.sayUnsupported && !codes.sayWrongPassword
            ? SigningError(
                .unsupportedEncryption,
                "The key is of a kind, or encrypted with an algorithm, that OpenSSL does not offer here.")
            : SigningError(.wrongPassword, "The password does not open the key.")
    }

    /// Reads a key as ``derBytes()`` gives it.
    init(der: SecretBytes) throws(SigningError) {
        ErrorStack.clear()
        var read: OpaquePointer?
        der.withBytes { bytes in
            unsafe bytes.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                unsafe read = d2i_AutoPrivateKey(nil, &cursor, buffer.count)
            }
        }
        guard let read = unsafe read else { throw libraryError("d2i_AutoPrivateKey") }
        unsafe pointer = read
    }

    /// Takes over an `EVP_PKEY` that is freed here only.
    @unsafe init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    /// Makes a key on P-256, of OpenSSL's private random source.
    static func generatedOnP256() throws(SigningError) -> PrivateKey {
        ErrorStack.clear()
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            throw libraryError("EVP_PKEY_CTX_new_from_name")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw libraryError("EVP_PKEY_generate") }
        return unsafe PrivateKey(owning: key)
    }

    /// The key as PKCS#8 in DER (RFC 5958), not encrypted.
    func derBytes() throws(SigningError) -> SecretBytes {
        ErrorStack.clear()
        guard let info = unsafe EVP_PKEY2PKCS8(pointer) else { throw libraryError("EVP_PKEY2PKCS8") }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        let length = unsafe i2d_PKCS8_PRIV_KEY_INFO(info, nil)
        guard length > 0 else { throw libraryError("i2d_PKCS8_PRIV_KEY_INFO") }
        var written: Int32 = 0
        let bytes = SecretBytes(count: Int(length)) { buffer in
            var cursor = buffer.baseAddress
            written = unsafe i2d_PKCS8_PRIV_KEY_INFO(info, &cursor)
        }
        guard written == length else { throw libraryError("i2d_PKCS8_PRIV_KEY_INFO") }
        return bytes
    }

    /// Whether it is the private half of the certificate's key.
    func belongs(to certificate: Certificate) -> Bool {
        ErrorStack.clear()
        defer { ErrorStack.clear() }
        return unsafe certificate.withPointer { unsafe X509_check_private_key($0, pointer) } == 1
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Whether it is an elliptic-curve key on P-256, which OpenSSL calls prime256v1.
    var isOnP256: Bool {
        unsafe EVP_PKEY_is_a(pointer, "EC") == 1 && groupName == "prime256v1"
    }

    /// The bits of its modulus, when it is an RSA key; otherwise 0.
    var rsaBits: Int {
        unsafe EVP_PKEY_is_a(pointer, "RSA") == 1 ? Int(EVP_PKEY_get_bits(pointer)) : 0
    }

    /// What it is, for an operator: `on secp384r1`, `of the kind RSA`.
    var kind: String {
        if let groupName { return "on \(groupName)" }
        guard let name = unsafe EVP_PKEY_get0_type_name(pointer) else { return "of an unknown kind" }
        return unsafe "of the kind \(String(cString: name))"
    }

    private var groupName: String? {
        ErrorStack.clear()
        var name = [CChar](repeating: 0, count: 80)
        var length = 0
        let found = unsafe name.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_PKEY_get_group_name(pointer, buffer.baseAddress, buffer.count, &length)
        }
        ErrorStack.clear()
        guard found == 1 else { return nil }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The public half as SubjectPublicKeyInfo in PEM.
    func publicKeyPEM() throws(SigningError) -> String {
        try unsafe Self.text("PEM_write_bio_PUBKEY") { unsafe PEM_write_bio_PUBKEY($0, pointer) }
    }

    /// The key as PKCS#8 in PEM, not encrypted: the form of a key file.
    func pem() throws(SigningError) -> String {
        try unsafe Self.text("PEM_write_bio_PKCS8PrivateKey") {
            unsafe PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil)
        }
    }

    /// What `write` writes to a memory BIO.
    private static func text(_ call: String, _ write: (OpaquePointer) -> Int32) throws(SigningError) -> String {
        ErrorStack.clear()
        guard let sink = unsafe BIO_new(BIO_s_mem()) else { throw libraryError("BIO_new") }
        defer { unsafe BIO_free(sink) }
        guard unsafe write(sink) == 1 else { throw libraryError(call) }
        var text = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(sink))
        let count = unsafe text.withUnsafeMutableBytes { buffer in
            unsafe BIO_read(sink, buffer.baseAddress, Int32(buffer.count))
        }
        guard count == text.count else { throw libraryError("BIO_read") }
        return String(decoding: text, as: UTF8.self)
    }

    /// The public half as an uncompressed point (SEC 1 §2.3.3). Only for elliptic-curve keys.
    func publicPoint() throws(SigningError) -> [UInt8] {
        ErrorStack.clear()
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe EVP_PKEY_get1_encoded_public_key(pointer, &encoded)
        defer { unsafe herald_OPENSSL_free(encoded) }
        guard length > 0, let start = unsafe encoded else { throw libraryError("EVP_PKEY_get1_encoded_public_key") }
        return unsafe Array(UnsafeBufferPointer(start: start, count: length))
    }

    /// The private half: 32 bytes. Only for keys on P-256.
    func scalar() throws(SigningError) -> SecretBytes {
        ErrorStack.clear()
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(pointer, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1,
            let number = unsafe number
        else { throw libraryError("EVP_PKEY_get_bn_param") }
        defer { unsafe BN_clear_free(number) }
        var written: Int32 = 0
        let bytes = SecretBytes(count: 32) { buffer in
            written = unsafe BN_bn2binpad(number, buffer.baseAddress, 32)
        }
        guard written == 32 else { throw libraryError("BN_bn2binpad") }
        return bytes
    }

    /// Signs the SHA-256 digest of `message`: r ‖ s, each padded on the left to 32 bytes. Only for keys on P-256.
    func signature(for message: [UInt8]) throws(SigningError) -> [UInt8] {
        let encoded = try encodedSignature(for: message)
        return try Self.joined(encoded)
    }

    /// Signs the SHA-256 digest of `message`, as OpenSSL writes it: DER for elliptic curves, PKCS #1 v1.5 for RSA.
    func encodedSignature(for message: [UInt8]) throws(SigningError) -> [UInt8] {
        ErrorStack.clear()
        guard let context = unsafe EVP_MD_CTX_new() else { throw libraryError("EVP_MD_CTX_new") }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1 else {
            throw libraryError("EVP_DigestSignInit")
        }
        var length = Int(unsafe EVP_PKEY_get_size(pointer))
        var encoded = [UInt8](repeating: 0, count: length)
        let signed = unsafe encoded.withUnsafeMutableBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestSign(
                    context, signature.baseAddress, &length, message.baseAddress, message.count)
            }
        }
        guard signed == 1 else { throw libraryError("EVP_DigestSign") }
        return Array(encoded.prefix(length))
    }

    /// Turns `ECDSA-Sig-Value` (RFC 3279 §2.2.3) into r ‖ s. DER integers have no fixed length: about one in 128 is
    /// shorter than 32 bytes, hence the padding.
    private static func joined(_ encoded: [UInt8]) throws(SigningError) -> [UInt8] {
        let decoded = unsafe encoded.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &cursor, buffer.count)
        }
        guard let signature = unsafe decoded else { throw libraryError("d2i_ECDSA_SIG") }
        defer { unsafe ECDSA_SIG_free(signature) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Bool in
            guard let start = buffer.baseAddress else { return false }
            // get0: r and s stay owned by `signature`.
            return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
        }
        guard written else { throw libraryError("BN_bn2binpad") }
        return bytes
    }
}

/// What OpenSSL is told when it asks for the password of an encrypted key.
private struct PasswordPrompt {
    /// `nil`: there is none.
    var password: [UInt8]?
    /// Whether OpenSSL asked.
    var wasShown = false
}

/// OpenSSL asks here for the password of an encrypted key. Without a callback it would prompt on the terminal and a
/// daemon would hang; -1 makes the read fail. `prompt` is that of the one `PEM_read_bio_PrivateKey` call in progress.
private func answerPrompt(
    buffer: UnsafeMutablePointer<CChar>?, size: Int32, _: Int32, prompt: UnsafeMutableRawPointer?
) -> Int32 {
    guard let prompt = unsafe prompt?.assumingMemoryBound(to: PasswordPrompt.self), let buffer = unsafe buffer else {
        return -1
    }
    unsafe prompt.pointee.wasShown = true
    guard let password = unsafe prompt.pointee.password, password.count <= Int(size) else { return -1 }
    for (index, byte) in password.enumerated() { unsafe buffer[index] = CChar(bitPattern: byte) }
    return Int32(password.count)
}

/// An error that names the failed call, with OpenSSL's error stack.
func libraryError(_ call: String) -> SigningError {
    SigningError(.library, "OpenSSL's \(call) failed: \(ErrorStack.drain())")
}
