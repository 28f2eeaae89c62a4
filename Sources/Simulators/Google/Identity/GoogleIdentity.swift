import Crypto
import CryptoExtras
import Foundation
import NIOCore
import NIOSSL

/// What a simulator needs to be taken for Google, and to check who sends: made once in a state directory and kept.
///
/// The directory holds `ca.pem` (to be trusted by the client) and `ca-key.pem`, `server.pem` and `server-key.pem`,
/// `account-key.pem` (RSA) and `service-account.json`, the key file of a service account as Google's console gives it,
/// written when the simulator listens, with its address. Private files have mode 0600.
package struct GoogleIdentity: Sendable {
    /// The directory.
    package let directory: String
    /// The CA certificate, PEM.
    package let caFile: String
    /// The key file of the service account.
    package let accountFile: String
    /// The Firebase project that the account belongs to.
    package let projectID: String
    /// The project's number.
    package let projectNumber: String
    /// The account's address.
    package let email: String
    /// The id of the account's key.
    package let keyID: String

    private let keyPEM: String
    private let serverCertificateFile: String
    private let serverKeyFile: String

    /// Reads the directory, makes missing files.
    ///
    /// - Throws: an error whose description names the file.
    package init(directory path: String, projectID: String = "demo-upstream") throws {
        let directory = try StateDirectory(path)
        try DevelopmentCertificates.prepare(in: directory, now: Date())
        let keyName = "account-key.pem"
        if !directory.exists(keyName) {
            try directory.write(
                _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation, to: keyName, isPrivate: true)
        }
        keyPEM = try directory.read(keyName) ?? ""
        self.directory = path
        self.projectID = projectID
        projectNumber = "1234567890"
        email = "sender@\(projectID).iam.gserviceaccount.com"
        keyID = Insecure.SHA1.hash(data: Data(keyPEM.utf8)).map { String(Int($0) + 256, radix: 16).suffix(2) }.joined()
        caFile = directory.file(DevelopmentCertificates.authority.certificate)
        accountFile = directory.file("service-account.json")
        serverCertificateFile = directory.file(DevelopmentCertificates.server.certificate)
        serverKeyFile = directory.file(DevelopmentCertificates.server.key)
    }

    /// The account's public key.
    func publicKey() throws -> _RSA.Signing.PublicKey {
        do {
            return try _RSA.Signing.PrivateKey(pemRepresentation: keyPEM).publicKey
        } catch {
            throw SimulatorError("\(directory)/account-key.pem: is no RSA key in PEM; delete it to have one made")
        }
    }

    /// Writes the account's key file, for a simulator that listens on `port`.
    func writeAccount(port: Int) throws {
        let members = [
            ("type", "service_account"), ("project_id", projectID), ("private_key_id", keyID), ("private_key", keyPEM),
            ("client_email", email), ("client_id", projectNumber),
            ("auth_uri", "https://accounts.google.com/o/oauth2/auth"), ("token_uri", Self.tokenURL(port: port)),
        ]
        let lines = members.map { "  \(jsonString($0.0)): \(jsonString($0.1))" }.joined(separator: ",\n")
        try StateDirectory(directory).write("{\n\(lines)\n}\n", to: "service-account.json", isPrivate: true)
    }

    /// Where a simulator that listens on `port` gives access tokens.
    package static func tokenURL(port: Int) -> String { "https://127.0.0.1:\(port)/token" }

    /// TLS with HTTP/2 and HTTP/1.1.
    func tlsContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(serverCertificateFile).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: serverKeyFile, format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2", "http/1.1"]
        configuration.shutdownTimeout = .seconds(1)
        return try NIOSSLContext(configuration: configuration)
    }
}
