/// A client certificate with its chain and its private key: the alternative to a provider key.
///
/// Immutable and safe to share between threads. The key's bytes are overwritten when the last reference goes.
package final class ClientIdentity: Sendable {
    /// What the certificate says.
    package let certificate: ClientCertificate
    /// The certificate, then those of its authorities as far as they were given, each in DER.
    package let certificateChain: [[UInt8]]

    private let key: SecretBytes

    /// Reads a certificate (with its authorities behind it) and its key in PEM.
    ///
    /// - Parameters:
    ///   - keyPEM: the text with the key; `nil`: it stands in `certificatePEM`.
    ///   - password: opens an encrypted key; `nil`: there is none.
    /// - Throws: ``SigningError`` with any code but `.notP256`.
    package convenience init(certificatePEM: String, keyPEM: String?, password: String?) throws(SigningError) {
        let chain = try Certificate.chain(pem: certificatePEM)
        let key: PrivateKey
        do {
            key = try PrivateKey(pem: keyPEM ?? certificatePEM, password: password ?? "")
        } catch {
            guard password == nil, error.code == .wrongPassword else { throw error }
            throw SigningError(.passwordNeeded, "The key is encrypted, and there is no password for it.")
        }
        try self.init(chain: chain, key: key)
    }

    /// Reads a PKCS#12 file, `.p12` or `.pfx` (RFC 7292).
    ///
    /// A file that is encrypted as exports were before 2022 (RC2 with 40 bits) is opened with OpenSSL's legacy provider.
    ///
    /// - Parameter password: empty: there is none.
    /// - Throws: ``SigningError`` with any code but `.notP256`.
    package convenience init(pkcs12: [UInt8], password: String) throws(SigningError) {
        try self.init(pkcs12: pkcs12, password: password, legacyProvider: "legacy")
    }

    /// The same with another name for the legacy provider.
    convenience init(pkcs12: [UInt8], password: String, legacyProvider: String) throws(SigningError) {
        let content = try PKCS12Content(pkcs12, password: password, legacyProvider: legacyProvider)
        var chain: [Certificate] = []
        for certificate in content.certificates { chain.append(try Certificate(der: certificate)) }
        try self.init(chain: chain, key: PrivateKey(der: content.key))
    }

    private init(chain: [Certificate], key: borrowing PrivateKey) throws(SigningError) {
        guard let first = chain.first else { throw SigningError(.notACertificate, "There is no certificate.") }
        guard key.belongs(to: first) else {
            throw SigningError(
                .keyMismatch,
                chain.dropFirst().contains { key.belongs(to: $0) }
                    ? "The key belongs to a later certificate; its own must be the first."
                    : "The key is not the one of the certificate.")
        }
        certificate = try ClientCertificate(first)
        var encoded: [[UInt8]] = []
        for certificate in chain { encoded.append(try certificate.derBytes()) }
        certificateChain = encoded
        self.key = try key.derBytes()
    }

    /// Lends the private key, PKCS#8 in DER and not encrypted. Keep no copy; `body` must not call back.
    package func withPrivateKey(_ body: (Span<UInt8>) -> Void) {
        key.withBytes(body)
    }
}
