import Crypto
import Foundation
import TestSupport
import Testing

@testable import Signing

/// Signatures made by OpenSSL are checked by swift-crypto: another implementation than the one that signed.
struct ES256PrivateKeyTests {
    private let reference = P256.Signing.PrivateKey()

    @Test func `Another implementation accepts 200 signatures`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        for _ in 0..<200 {
            let message = (0..<Int.random(in: 0...300)).map { _ in UInt8.random(in: 0...255) }
            let signature = try key.signature(for: message)
            #expect(signature.count == 64)
            let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
            #expect(reference.publicKey.isValidSignature(parsed, for: message))
        }
    }

    @Test func `Short integers are padded on the left to 32 bytes`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let message = Array("the same".utf8)
        var shortHalves = 0
        // One in 128 signatures has a half that begins with a zero byte.
        for _ in 0..<20_000 where shortHalves < 3 {
            let signature = try key.signature(for: message)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            shortHalves += 1
            let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
            #expect(reference.publicKey.isValidSignature(parsed, for: message))
        }
        #expect(shortHalves == 3)
    }

    @Test func `A signature of another message does not verify`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let signature = try key.signature(for: [1])
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        #expect(!reference.publicKey.isValidSignature(parsed, for: [2]))
    }

    @Test func `The public half is the one of the key`() throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let publicKey = try P256.Signing.PublicKey(pemRepresentation: key.publicKeyPEM)
        #expect(publicKey.rawRepresentation == reference.publicKey.rawRepresentation)
    }

    @Test func `A key with other line ends and text around it is read`() throws {
        let pem = "from the portal\r\n" + reference.pemRepresentation.replacing("\n", with: "\r\n") + "\r\n\r\n"
        #expect(
            try ES256PrivateKey(pem: pem).publicKeyPEM == ES256PrivateKey(pem: reference.pemRepresentation).publicKeyPEM
        )
    }

    @Test func `Signing from many tasks at once works`() async throws {
        let key = try ES256PrivateKey(pem: reference.pemRepresentation)
        let publicKey = reference.publicKey
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let message = [UInt8(number)]
                    let signature = try key.signature(for: message)
                    return try publicKey.isValidSignature(.init(rawRepresentation: signature), for: message)
                }
            }
            for try await isValid in group { #expect(isValid) }
        }
    }
}

struct UnusableKeyTests {
    private static let wrongCurves = [
        P384.Signing.PrivateKey().pemRepresentation, P521.Signing.PrivateKey().pemRepresentation,
    ]

    @Test(arguments: wrongCurves)
    func `A key on another curve is refused by name`(pem: String) throws {
        let error = try #require(throws: SigningError.self) { try ES256PrivateKey(pem: pem) }
        #expect(error.code == .notP256)
        #expect(error.message.contains("secp"))
        #expect(ErrorStack.drain() == "no details")
    }

    @Test func `An RSA key and an Ed25519 key are refused by name`() async throws {
        for (algorithm, name) in [("RSA", "RSA"), ("ED25519", "ED25519")] {
            let pem = try await openssl(["genpkey", "-algorithm", algorithm])
            let error = try #require(throws: SigningError.self) { try ES256PrivateKey(pem: pem) }
            #expect(error.code == .notP256)
            #expect(error.message.contains(name))
        }
    }

    @Test func `Another 256-bit curve is refused`() async throws {
        let pem = try await openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"])
        let error = try #require(throws: SigningError.self) { try ES256PrivateKey(pem: pem) }
        #expect(error.code == .notP256)
    }

    @Test(
        arguments: [
            "", "\n", "not a key", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n",
            P256.Signing.PrivateKey().publicKey.pemRepresentation,
            String(P256.Signing.PrivateKey().pemRepresentation.dropLast(60)),
        ])
    func `A text without a private key is refused`(text: String) throws {
        let error = try #require(throws: SigningError.self) { try ES256PrivateKey(pem: text) }
        #expect(error.code == .notAPrivateKey)
        #expect(ErrorStack.drain() == "no details")
    }

    @Test func `An encrypted key is refused without asking for its password`() async throws {
        let pem = try await openssl([
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-256-cbc", "-pass",
            "pass:secret",
        ])
        #expect(pem.contains("ENCRYPTED"))
        let error = try #require(throws: SigningError.self) { try ES256PrivateKey(pem: pem) }
        #expect(error.code == .notAPrivateKey)
        #expect(error.message.contains("encrypted"))
        #expect(ErrorStack.drain() == "no details")
    }

    @Test func `An error does not repeat the text it is about`() throws {
        let secret = String(P256.Signing.PrivateKey().pemRepresentation.dropLast(60))
        let error = try #require(throws: SigningError.self) { try ES256PrivateKey(pem: secret) }
        for line in secret.split(separator: "\n") where !line.hasPrefix("-") {
            #expect(!error.description.contains(line))
        }
    }
}
