import Foundation
import NIOCore
import NIOSSL

/// What a simulated push service needs for TLS: made once in a state directory and kept.
///
/// The directory holds `ca.pem` (for `webPush.trust`) and `ca-key.pem`, `server.pem` and `server-key.pem` (for
/// `localhost`, `127.0.0.1` and `::1`). Private keys have mode 0600.
package struct PushServiceIdentity: Sendable {
    /// The CA certificate, PEM.
    package let caFile: String
    private let certificateFile: String
    private let keyFile: String

    /// Reads the directory, makes missing files.
    ///
    /// - Throws: an error whose description names the file.
    package init(directory path: String) throws {
        let directory = try StateDirectory(path)
        try DevelopmentCertificates.prepare(in: directory, now: Date())
        caFile = directory.file(DevelopmentCertificates.authority.certificate)
        certificateFile = directory.file(DevelopmentCertificates.server.certificate)
        keyFile = directory.file(DevelopmentCertificates.server.key)
    }

    /// TLS 1.2 or later, HTTP/2.
    func tlsContext() throws -> NIOSSLContext {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificateFile)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        configuration.shutdownTimeout = .seconds(1)
        return try NIOSSLContext(configuration: configuration)
    }
}
