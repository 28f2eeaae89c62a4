import Crypto
import Foundation
import SwiftASN1
import X509

/// A certificate and its key, each in a file.
private struct CertificatePair {
    var certificate: Certificate
    var key: P256.Signing.PrivateKey

    /// Reads both files.
    ///
    /// - Returns: `nil` when one is missing.
    /// - Throws: ``SimulatorError`` that names the garbled file and says what to do.
    init?(in directory: StateDirectory, _ names: DevelopmentCertificates.Names) throws {
        guard let certificate = try directory.read(names.certificate), let key = try directory.read(names.key) else {
            return nil
        }
        do {
            self.certificate = try Certificate(pemEncoded: certificate)
        } catch {
            throw SimulatorError("\(directory.file(names.certificate)): is not a certificate in PEM; \(names.remedy)")
        }
        do {
            self.key = try P256.Signing.PrivateKey(pemRepresentation: key)
        } catch {
            throw SimulatorError("\(directory.file(names.key)): is not a P-256 private key in PEM; \(names.remedy)")
        }
    }

    init(certificate: Certificate, key: P256.Signing.PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    var fits: Bool { certificate.publicKey == Certificate.PublicKey(key.publicKey) }

    func isValid(at now: Date) -> Bool {
        certificate.notValidBefore <= now
            && now.addingTimeInterval(DevelopmentCertificates.day)
                < certificate.notValidAfter
    }

    func write(to directory: StateDirectory, _ names: DevelopmentCertificates.Names) throws {
        // The certificate last: what exists only half is made again.
        try directory.write(key.pemRepresentation, to: names.key, isPrivate: true)
        try directory.write(try certificate.serializeAsPEM().pemString, to: names.certificate, isPrivate: false)
    }
}

/// The CA of a simulator and its server certificate: read, made when missing, renewed when over.
enum DevelopmentCertificates {
    struct Names {
        var certificate: String
        var key: String
        var remedy: String
    }

    static let authority = Names(
        certificate: "ca.pem", key: "ca-key.pem",
        remedy: "delete ca.pem and ca-key.pem to have a new CA made, which clients must then trust")
    static let server = Names(
        certificate: "server.pem", key: "server-key.pem",
        remedy: "delete server.pem and server-key.pem to have them made anew")

    static let day: TimeInterval = 86_400
    private static let authorityYears = 10.0
    private static let serverYears = 5.0

    /// Sees to it that both pairs are there, belong together and are valid now.
    static func prepare(in directory: StateDirectory, now: Date) throws {
        let authority = try preparedAuthority(in: directory, now: now)
        if let pair = try CertificatePair(in: directory, server), pair.fits, pair.isValid(at: now),
            authority.certificate.publicKey.isValidSignature(pair.certificate.signature, for: pair.certificate)
        {
            return
        }
        try makeServer(issuer: authority, now: now).write(to: directory, server)
    }

    private static func preparedAuthority(in directory: StateDirectory, now: Date) throws -> CertificatePair {
        if let pair = try CertificatePair(in: directory, authority) {
            guard pair.fits else {
                throw SimulatorError(
                    "\(directory.file(authority.key)): is not the key of ca.pem; \(authority.remedy)")
            }
            if pair.isValid(at: now) { return pair }
        }
        let pair = try makeAuthority(now: now)
        try pair.write(to: directory, authority)
        return pair
    }

    private static func makeAuthority(now: Date) throws -> CertificatePair {
        let key = P256.Signing.PrivateKey()
        // The serial number in the name keeps two development CAs in one trust store apart.
        let serial = Certificate.SerialNumber()
        let name = try DistinguishedName {
            OrganizationName("Herald")
            CommonName("Herald development CA \(serial.description.suffix(8))")
        }
        let certificate = try Certificate(
            version: .v3, serialNumber: serial, publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: now.addingTimeInterval(-day),
            notValidAfter: now.addingTimeInterval(authorityYears * 365 * day), issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
            }, issuerPrivateKey: Certificate.PrivateKey(key))
        return CertificatePair(certificate: certificate, key: key)
    }

    private static func makeServer(issuer: CertificatePair, now: Date) throws -> CertificatePair {
        let key = P256.Signing.PrivateKey()
        let loopback6 = [UInt8](repeating: 0, count: 15) + [1]
        let end = min(now.addingTimeInterval(serverYears * 365 * day), issuer.certificate.notValidAfter)
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey), notValidBefore: now.addingTimeInterval(-day),
            notValidAfter: end, issuer: issuer.certificate.subject,
            subject: try DistinguishedName { CommonName("localhost") }, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([
                    .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                    .ipAddress(ASN1OctetString(contentBytes: loopback6[...])),
                ])
                SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(hash: issuer.certificate.publicKey).keyIdentifier)
            }, issuerPrivateKey: Certificate.PrivateKey(issuer.key))
        return CertificatePair(certificate: certificate, key: key)
    }

    /// Issues a certificate for a client as Apple makes them, and its key, both in PEM.
    static func pushCertificate(
        topics: [String], validity: ClosedRange<Int64>, in directory: StateDirectory, now: Date
    ) throws -> (certificatePEM: String, keyPEM: String) {
        guard let issuer = try CertificatePair(in: directory, authority) else {
            throw SimulatorError("\(directory.file(authority.certificate)): is missing; start the simulator again")
        }
        let key = P256.Signing.PrivateKey()
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: now.addingTimeInterval(TimeInterval(validity.lowerBound)),
            notValidAfter: now.addingTimeInterval(TimeInterval(validity.upperBound)),
            issuer: issuer.certificate.subject, subject: try PushCertificate.subject(topics: topics),
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
                for known in try PushCertificate.extensions(topics: topics) { known }
            }, issuerPrivateKey: Certificate.PrivateKey(issuer.key))
        return (try certificate.serializeAsPEM().pemString, key.pemRepresentation)
    }
}
