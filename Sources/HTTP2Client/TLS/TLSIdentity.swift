import COpenSSL

/// The certificate that a pool shows when the peer asks for one, and its private key: mutual TLS.
package struct TLSIdentity: Sendable {
    /// The client's certificate, then those of its authorities as far as they are to be sent, each in DER.
    package let certificateChain: [[UInt8]]
    /// Lends the private key in DER for the time of a call, so that this module keeps no copy.
    private let withPrivateKey: @Sendable (_ body: (Span<UInt8>) -> Void) -> Void

    /// Describes an identity.
    ///
    /// - Parameter withPrivateKey: calls `body` once with the key, PKCS#8 and not encrypted.
    package init(
        certificateChain: [[UInt8]],
        withPrivateKey: @escaping @Sendable (_ body: (Span<UInt8>) -> Void) -> Void
    ) {
        self.certificateChain = certificateChain
        self.withPrivateKey = withPrivateKey
    }

    /// How the messages of errors begin that this makes.
    package static let failurePrefix = "client certificate: "

    /// Gives certificate, chain and key to an `SSL_CTX` that no connection uses yet; it makes copies of its own, which
    /// it overwrites when it goes.
    @unsafe func install(in context: OpaquePointer) throws(TransportFailure) {
        OpenSSLErrors.clear()
        guard let first = certificateChain.first,
            unsafe SSL_CTX_use_certificate_ASN1(context, Int32(clamping: first.count), first) == 1
        else { throw Self.failure("the certificate can't be used") }
        for certificate in certificateChain.dropFirst() {
            guard unsafe Self.add(certificate, to: context) else { throw Self.failure("its chain can't be used") }
        }
        var isUsed = false
        withPrivateKey { key in
            unsafe key.withUnsafeBufferPointer { bytes in
                var cursor = bytes.baseAddress
                guard let key = unsafe d2i_AutoPrivateKey(nil, &cursor, bytes.count) else { return }
                defer { unsafe EVP_PKEY_free(key) }
                isUsed = unsafe SSL_CTX_use_PrivateKey(context, key) == 1
            }
        }
        guard isUsed, unsafe SSL_CTX_check_private_key(context) == 1 else {
            throw Self.failure("the private key can't be used with it")
        }
    }

    private static func add(_ certificate: [UInt8], to context: OpaquePointer) -> Bool {
        unsafe certificate.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            guard let certificate = unsafe d2i_X509(nil, &cursor, bytes.count) else { return false }
            defer { unsafe X509_free(certificate) }
            return unsafe herald_SSL_CTX_add1_chain_cert(context, certificate) == 1
        }
    }

    private static func failure(_ what: String) -> TransportFailure {
        TransportFailure(.tlsFailed, "\(failurePrefix)\(what): \(OpenSSLErrors.drain())")
    }
}
