import COpenSSL

/// What a PKCS#12 file holds, in DER: independent of the OpenSSL context that opened it.
struct PKCS12Content {
    /// The private key, PKCS#8.
    let key: SecretBytes
    /// The certificate of the key, then all others of the file.
    let certificates: [[UInt8]]

    /// Opens a file.
    ///
    /// - Parameter legacyProvider: the name of the provider that knows RC2 and the like.
    init(_ bytes: [UInt8], password: String, legacyProvider: String) throws(SigningError) {
        do {
            unsafe try self.init(bytes, password: password, in: nil)
        } catch {
            guard error.code == .unsupportedEncryption else { throw error }
            self = try Self.legacy(bytes, password: password, provider: legacyProvider)
        }
    }

    /// Opens a file in a context of its own that has the legacy provider, so that nothing else in the process ever uses
    /// its algorithms.
    private static func legacy(
        _ bytes: [UInt8], password: String, provider name: String
    ) throws(SigningError) -> PKCS12Content {
        ErrorStack.clear()
        guard let context = unsafe OSSL_LIB_CTX_new() else { throw libraryError("OSSL_LIB_CTX_new") }
        defer { unsafe OSSL_LIB_CTX_free(context) }
        guard let standard = unsafe OSSL_PROVIDER_load(context, "default") else {
            throw libraryError("OSSL_PROVIDER_load")
        }
        defer { unsafe OSSL_PROVIDER_unload(standard) }
        guard let legacy = unsafe OSSL_PROVIDER_load(context, name) else {
            ErrorStack.clear()
            throw SigningError(.unsupportedEncryption, missingProvider)
        }
        defer { unsafe OSSL_PROVIDER_unload(legacy) }
        return unsafe try PKCS12Content(bytes, password: password, in: context)
    }

    private static let missingProvider = """
        The file is encrypted with an old algorithm (RC2), and OpenSSL's legacy provider is not installed here; install \
        it (legacy.so; a package openssl-provider-legacy where it is apart) or convert the file where it is there: \
        openssl pkcs12 -legacy -in old.p12 -nodes | openssl pkcs12 -export -out new.p12
        """

    /// - Parameter context: an `OSSL_LIB_CTX`; `nil`: the default one.
    private init(_ bytes: [UInt8], password: String, in context: OpaquePointer?) throws(SigningError) {
        ErrorStack.clear()
        // Made first: d2i keeps the context of what it fills.
        var archive = unsafe PKCS12_init_ex(NID_pkcs7_data, context, nil)
        guard unsafe archive != nil else { throw libraryError("PKCS12_init_ex") }
        defer { unsafe PKCS12_free(archive) }
        let isRead = unsafe bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            // On failure it frees what it should fill, and sets `archive` to nil.
            return unsafe d2i_PKCS12(&archive, &cursor, buffer.count) != nil
        }
        guard isRead else {
            ErrorStack.clear()
            throw SigningError(.notACertificate, "The file is not PKCS#12.")
        }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        var text = password.utf8.map { CChar(bitPattern: $0) } + [0]
        defer { unsafe text.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) } }
        let isParsed = unsafe PKCS12_parse(archive, text, &key, &certificate, &others) == 1
        defer { unsafe herald_sk_X509_free(others) }
        guard isParsed else { throw Self.unreadable(ErrorStack.drainCodes(), hasPassword: !password.isEmpty) }
        let ownedKey: PrivateKey? = unsafe key.map { unsafe PrivateKey(owning: $0) }
        let ownedCertificate = unsafe certificate.map { unsafe Certificate(owning: $0) }
        ErrorStack.clear()
        guard let ownedKey else { throw SigningError(.notAPrivateKey, "There is no private key in the file.") }
        guard let ownedCertificate else {
            throw SigningError(.notACertificate, "There is no certificate of the key in the file.")
        }
        self.key = try ownedKey.derBytes()
        certificates = unsafe try [ownedCertificate.derBytes()] + Self.encoded(others)
    }

    /// The certificates of a stack, which stays the caller's.
    private static func encoded(_ stack: OpaquePointer?) throws(SigningError) -> [[UInt8]] {
        guard let stack = unsafe stack else { return [] }
        let count = unsafe herald_sk_X509_num(stack)
        guard count < Certificate.chainLimit else {
            throw SigningError(.notACertificate, "There are more than \(Certificate.chainLimit) certificates.")
        }
        var encoded: [[UInt8]] = []
        for index in 0..<max(0, count) {
            guard let certificate = unsafe herald_sk_X509_value(stack, index),
                unsafe X509_up_ref(certificate) == 1
            else { throw libraryError("sk_X509_value") }
            encoded.append(try unsafe Certificate(owning: certificate).derBytes())
        }
        return encoded
    }

    private static func unreadable(_ codes: ErrorStack.Codes, hasPassword: Bool) -> SigningError {
        if codes.sayWrongPassword {
            return hasPassword
                ? SigningError(.wrongPassword, "The password does not open the file.")
                : SigningError(.passwordNeeded, "The file is encrypted, and there is no password for it.")
        }
        if codes.sayUnsupported {
            return SigningError(
                .unsupportedEncryption, "The file is encrypted with an algorithm that OpenSSL does not know.")
        }
        return SigningError(.notACertificate, "The PKCS#12 file is damaged (\(codes.text)).")
    }
}
