import Foundation
import NIOCore
import NIOSSL

/// What a simulator needs to be taken for APNs, and to check who sends: made once in a state directory and kept.
///
/// The directory holds `ca.pem` (to be trusted by the client) and `ca-key.pem`, `server.pem` and `server-key.pem` (for
/// `localhost`, `127.0.0.1` and `::1`, renewed when they are over), `AuthKey_<keyID>.p8` (a provider key to send with)
/// and `provider-keys.json` (team, key id, public key and topics that are accepted; more can be added by hand).
/// `rules.json` and `scenarios.json`, if there, are read when the simulator starts (see ``RuleSet`` and
/// ``ScenarioSet``). Private keys have mode 0600.
package struct SimulatorIdentity: Sendable {
    /// The directory.
    package let directory: String
    /// The CA certificate, PEM.
    package let caFile: String
    /// The team of the generated provider key, 10 characters.
    package let teamID: String
    /// The id of the generated provider key, 10 characters.
    package let keyID: String
    /// The generated provider key, a `.p8`.
    package let keyFile: String
    /// The keys whose provider tokens are accepted: those of `provider-keys.json` to begin with.
    package var providerKeys: [AcceptedProviderKey]

    private let serverCertificateFile: String
    private let serverKeyFile: String
    let rulesFile: String
    let scenariosFile: String

    /// Reads the directory, makes missing files.
    ///
    /// - Parameter topics: bundle ids that the generated key may push to; empty: any. They count when the key is made;
    ///   afterwards `provider-keys.json` has them.
    /// - Throws: an error whose description names the file.
    package init(directory: String, topics: [String]) throws {
        try self.init(directory: directory, topics: topics, now: Date())
    }

    /// The same at a given time, which decides whether the certificates are still good.
    init(directory path: String, topics: [String], now: Date) throws {
        let directory = try StateDirectory(path)
        try DevelopmentCertificates.prepare(in: directory, now: now)
        let (accepted, own) = try ProviderKeys.prepare(in: directory, topics: topics)
        self.directory = path
        caFile = directory.file(DevelopmentCertificates.authority.certificate)
        serverCertificateFile = directory.file(DevelopmentCertificates.server.certificate)
        serverKeyFile = directory.file(DevelopmentCertificates.server.key)
        rulesFile = directory.file("rules.json")
        scenariosFile = directory.file("scenarios.json")
        teamID = own.teamID
        keyID = own.keyID
        keyFile = directory.file(ProviderKeys.keyFile(own.keyID))
        providerKeys = accepted
    }

    /// Issues a push certificate under the simulator's own authority, as Apple does under its own: for a client of a
    /// simulator whose ``SimulatedAPNS/Configuration/clientCAFile`` is ``caFile``. Nothing is kept of it here.
    ///
    /// - Parameters:
    ///   - topics: what it may push to, the bundle id first; that is the subject's UID too. Empty: no push certificate.
    ///   - validity: from when to when, in seconds from now.
    /// - Throws: an error whose description names the file.
    package func pushCertificate(
        topics: [String], validity: ClosedRange<Int64> = -86_400...365 * 86_400
    ) throws -> (certificatePEM: String, keyPEM: String) {
        try DevelopmentCertificates.pushCertificate(
            topics: topics, validity: validity, in: StateDirectory(directory), now: Date())
    }

    /// TLS as APNs speaks it: 1.2 or later, HTTP/2 only, client certificates welcome if there is a file of authorities.
    func tlsContext(clientCAFile: String?) throws -> NIOSSLContext {
        let certificates = try NIOSSLCertificate.fromPEMFile(serverCertificateFile)
        let key = try NIOSSLPrivateKey(file: serverKeyFile, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        configuration.shutdownTimeout = .seconds(1)
        guard let clientCAFile else { return try NIOSSLContext(configuration: configuration) }
        do {
            // Not just the name of the file: without a certificate in it no client would be verified.
            let authorities = try NIOSSLCertificate.fromPEMFile(clientCAFile)
            configuration.trustRoots = .certificates(authorities)
            configuration.certificateVerification = .optionalVerification
            configuration.sendCANameList = true
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw SimulatorError("\(clientCAFile): no PEM certificates of authorities can be read from it")
        }
    }
}
