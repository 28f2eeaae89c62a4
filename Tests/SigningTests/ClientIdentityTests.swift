import Crypto
import Foundation
import TestSupport
import Testing

@testable import Signing

@Suite(.enabled(if: hasOpenSSLCommand), .timeLimit(.minutes(5)))
struct ClientIdentityTests {
    @Test(arguments: [["rsa:2048"], ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]])
    func `A PEM pair gives chain, key, topics, environments and dates`(kind: [String]) async throws {
        let made = try await PushCertificate(kind: kind)
        let identity = try ClientIdentity(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM, password: nil)
        let certificate = identity.certificate
        #expect(certificate.userID == "com.example.app")
        #expect(certificate.commonName == "Apple Push Services: com.example.app")
        #expect(certificate.topics == ["com.example.app", "com.example.app.voip"])
        #expect(certificate.environments == [.sandbox, .production])
        #expect(certificate.notAfter - certificate.notBefore == 20 * 86_400)
        #expect(abs(Int64(Date().timeIntervalSince1970) - certificate.notBefore) < 600)
        #expect(certificate.fingerprint == Self.hexadecimal(SHA256.hash(data: identity.certificateChain[0])))
        #expect(identity.certificateChain.count == 1)
        // The key that is lent is the one that was given.
        let copy = directoryFile(made, "copy.der", identity)
        let text = try await openssl(["pkey", "-inform", "DER", "-in", copy, "-pubout"])
        #expect(try await text == openssl(["pkey", "-in", made.key, "-pubout"]))
    }

    @Test func `The key may stand in the certificate's file, on either side`() async throws {
        let made = try await PushCertificate()
        for text in try [made.certificatePEM + made.keyPEM, made.keyPEM + made.certificatePEM] {
            let identity = try ClientIdentity(certificatePEM: text, keyPEM: nil, password: nil)
            #expect(identity.certificate.topics.count == 2)
        }
    }

    @Test func `Certificates behind the first are its chain`() async throws {
        let (made, authority) = (try await PushCertificate(), try await PushCertificate(uid: nil, topics: nil))
        let identity = try ClientIdentity(
            certificatePEM: "Bag Attributes\n" + made.certificatePEM + authority.certificatePEM, keyPEM: made.keyPEM,
            password: nil)
        #expect(identity.certificateChain.count == 2)
        let error = try #require(throws: SigningError.self) {
            try ClientIdentity(
                certificatePEM: authority.certificatePEM + made.certificatePEM, keyPEM: made.keyPEM, password: nil)
        }
        #expect(error.code == .keyMismatch)
        #expect(error.message.contains("first"))
    }

    @Test func `Without the list of topics the subject's UID is the topic`() async throws {
        let made = try await PushCertificate(uid: "com.example.old", topics: nil, environments: [1])
        let certificate = try ClientIdentity(
            certificatePEM: made.certificatePEM, keyPEM: made.keyPEM, password: nil
        ).certificate
        #expect(certificate.topics == ["com.example.old"])
        #expect(certificate.environments == [.sandbox])
    }

    @Test func `A certificate of another trade has no topic`() async throws {
        let made = try await PushCertificate(uid: nil, topics: nil, environments: [])
        let identity = try ClientIdentity(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM, password: nil)
        #expect(identity.certificate.topics.isEmpty)
        #expect(identity.certificate.userID == nil)
    }

    @Test func `A key of another certificate is refused`() async throws {
        let (made, other) = (try await PushCertificate(), try await PushCertificate())
        let error = try #require(throws: SigningError.self) {
            try ClientIdentity(certificatePEM: made.certificatePEM, keyPEM: other.keyPEM, password: nil)
        }
        #expect(error.code == .keyMismatch)
    }

    @Test func `An encrypted key needs its password`() async throws {
        let made = try await PushCertificate()
        let key = try await openssl(["pkey", "-in", made.key, "-aes-256-cbc", "-passout", "pass:secret"])
        let certificate = try made.certificatePEM
        let cases: [(String?, SigningError.Code)] = [(nil, .passwordNeeded), ("wrong", .wrongPassword)]
        for (password, code) in cases {
            let error = try #require(throws: SigningError.self) {
                try ClientIdentity(certificatePEM: certificate, keyPEM: key, password: password)
            }
            #expect(error.code == code)
            #expect(!error.message.contains("wrong"))
            #expect(ErrorStack.drain() == "no details")
        }
        _ = try ClientIdentity(certificatePEM: certificate, keyPEM: key, password: "secret")
    }

    /// One in 256 leaves bytes whose padding is right; what fails then is to read them as a key.
    @Test func `No wrong password of 2,000 is told as anything else`() async throws {
        let made = try await PushCertificate()
        let key = try await openssl(["pkcs8", "-topk8", "-in", made.key, "-iter", "1", "-passout", "pass:secret"])
        for number in 0..<2_000 {
            let error = #expect(throws: SigningError.self) { _ = try PrivateKey(pem: key, password: "wrong \(number)") }
            #expect(error?.code == .wrongPassword, "\(number)")
        }
    }

    @Test func `A key that is encrypted with what no provider knows says so`() async throws {
        let made = try await PushCertificate()
        let key = try await openssl([
            "pkcs8", "-topk8", "-in", made.key, "-v1", "PBE-MD5-DES", "-provider", "legacy", "-provider", "default",
            "-passout", "pass:secret",
        ])
        let error = #expect(throws: SigningError.self) { _ = try PrivateKey(pem: key, password: "secret") }
        #expect(error?.code == .unsupportedEncryption)
    }

    /// A key on P-256 whose curve was renamed before it was encrypted: OpenSSL has no command that makes one.
    @Test func `The right password of a key on an unknown curve is not told as a wrong one`() {
        let key = """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgLGJD8DYrNowICA+gw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGj9q00cP+wBHZLQaRULY28EgZAe
            8fSwig/nHY9h/m0MiMeZ/oEeYW0AjH0s3Je0N4ammHR4qfy4TTaG+ae2TWwT3Lwf
            doK9fhu0NnChPMnPD/DkkSOAG9EE5NkutxPLwYWOCanDI9rV83qzYZVXu+C31gYV
            2KxiWaALAFKLETiL0oChg/mKk6aOlxk1hx1mYwRVGhXdbcXluPk0d4buy0dgrFM=
            -----END ENCRYPTED PRIVATE KEY-----
            """
        let error = #expect(throws: SigningError.self) { _ = try PrivateKey(pem: key, password: "secret") }
        #expect(error?.code == .unsupportedEncryption)
    }

    @Test func `A text without certificate or key is refused by what is missing`() async throws {
        let made = try await PushCertificate()
        let cases: [(String, String?, SigningError.Code)] = [
            ("", nil, .notACertificate), ("nothing", try made.keyPEM, .notACertificate),
            (try made.certificatePEM, nil, .notAPrivateKey), (try made.keyPEM, nil, .notACertificate),
            (String(try made.certificatePEM.dropLast(60)), try made.keyPEM, .notACertificate),
            (String(repeating: try made.certificatePEM, count: 11), try made.keyPEM, .notACertificate),
        ]
        for (certificate, key, code) in cases {
            let error = try #require(throws: SigningError.self) {
                try ClientIdentity(certificatePEM: certificate, keyPEM: key, password: nil)
            }
            #expect(error.code == code, "\(error)")
            #expect(ErrorStack.drain() == "no details")
        }
    }

    private static func hexadecimal(_ digest: SHA256.Digest) -> String {
        digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Writes the key that is lent into a file.
    private func directoryFile(_ made: PushCertificate, _ name: String, _ identity: ClientIdentity) -> String {
        var bytes: [UInt8] = []
        identity.withPrivateKey { key in
            for index in key.indices { bytes.append(key[index]) }
        }
        let file = made.directory.file(name)
        #expect(FileManager.default.createFile(atPath: file, contents: Data(bytes)))
        return file
    }
}

@Suite(.enabled(if: hasOpenSSLCommand), .timeLimit(.minutes(5)))
struct PKCS12Tests {
    private static let legacy = ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-3DES"]

    @Test(arguments: [[], ["-descert", "-legacy"], legacy])
    func `A file opens with its password, an old one with the legacy provider`(options: [String]) async throws {
        let made = try await PushCertificate()
        let archive = try await made.archive(password: "secret", options)
        let identity = try ClientIdentity(pkcs12: archive, password: "secret")
        #expect(identity.certificate.topics == ["com.example.app", "com.example.app.voip"])
        let pair = try ClientIdentity(certificatePEM: made.certificatePEM, keyPEM: made.keyPEM, password: nil)
        #expect(identity.certificate == pair.certificate)
        #expect(ErrorStack.drain() == "no details")
    }

    @Test func `Old algorithms stay unknown to the rest of the process`() async throws {
        let made = try await PushCertificate()
        let archive = try await made.archive(password: "secret", Self.legacy)
        _ = try ClientIdentity(pkcs12: archive, password: "secret")
        // Had the first call put the provider into the default context, a wrong name would do no harm here.
        #expect(throws: SigningError.self) {
            try ClientIdentity(pkcs12: archive, password: "secret", legacyProvider: "nowhere")
        }
    }

    @Test func `Without the legacy provider an old file is refused with the way out`() async throws {
        let archive = try await PushCertificate().archive(password: "secret", Self.legacy)
        let error = try #require(throws: SigningError.self) {
            try ClientIdentity(pkcs12: archive, password: "secret", legacyProvider: "nowhere")
        }
        #expect(error.code == .unsupportedEncryption)
        #expect(error.message.contains("openssl pkcs12 -legacy"))
        #expect(error.message.contains("install"))
    }

    @Test(arguments: [[], legacy])
    func `A wrong password and a missing one are told apart`(options: [String]) async throws {
        let archive = try await PushCertificate().archive(password: "secret", options)
        for (password, code) in [("guess", SigningError.Code.wrongPassword), ("", .passwordNeeded)] {
            let error = try #require(throws: SigningError.self) {
                try ClientIdentity(pkcs12: archive, password: password)
            }
            #expect(error.code == code)
            #expect(!error.message.contains("guess"))
            #expect(ErrorStack.drain() == "no details")
        }
    }

    @Test func `An empty password opens a file that has none`() async throws {
        let archive = try await PushCertificate().archive(password: "")
        _ = try ClientIdentity(pkcs12: archive, password: "")
    }

    @Test func `The other certificates of the file follow`() async throws {
        let (made, authority) = (try await PushCertificate(), try await PushCertificate(uid: nil, topics: nil))
        let archive = try await made.archive(password: "secret", ["-certfile", authority.certificate])
        let identity = try ClientIdentity(pkcs12: archive, password: "secret")
        #expect(identity.certificateChain.count == 2)
        #expect(identity.certificate.userID == "com.example.app")
    }

    @Test func `A file without a key is refused`() async throws {
        let archive = try await PushCertificate().archive(password: "secret", ["-nokeys"])
        let error = try #require(throws: SigningError.self) { try ClientIdentity(pkcs12: archive, password: "secret") }
        #expect(error.code == .notAPrivateKey)
    }

    @Test(arguments: [[], [0x30], Array("-----BEGIN CERTIFICATE-----".utf8), [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]])
    func `What is not PKCS#12 is refused`(bytes: [UInt8]) throws {
        let error = try #require(throws: SigningError.self) { try ClientIdentity(pkcs12: bytes, password: "") }
        #expect(error.code == .notACertificate)
        #expect(ErrorStack.drain() == "no details")
    }
}

/// Garbage of every kind ends in an error, never in a crash.
@Suite(.enabled(if: hasOpenSSLCommand), .timeLimit(.minutes(2)))
struct DamagedCertificateTests {
    @Test func `Damaged lists of topics are read or refused`() throws {
        let long = String(repeating: "x", count: 200)
        let list = PushCertificate.topicList(["com.example.app", "com.example.app.voip", long])
        var random = SystemRandomNumberGenerator()
        var refused = 0
        for _ in 0..<20_000 {
            do throws(DERReader.Malformed) {
                let topics = try ClientCertificate.topics(in: Self.damaged(list, &random))
                #expect(topics.allSatisfy { (1...255).contains($0.utf8.count) })
            } catch {
                refused += 1
            }
        }
        #expect(refused > 1000)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x80, 0, 0], [0x30, 0x84, 0, 0, 0, 0], [0x30, 2, 0x0C], [0x30, 2, 0x0C, 0],
            [0x30, 3, 0x0C, 1, 0xFF], [0x30, 3, 0x02, 1, 1], [0x30, 0, 0x30, 0], [0x1F, 0], [0x0C, 1, 0x41],
            [0x30, 0x83, 0xFF, 0xFF, 0xFF, 0x0C],
        ])
    func `A list that is no list is refused`(list: [UInt8]) {
        #expect(throws: DERReader.Malformed.self) { try ClientCertificate.topics(in: list) }
    }

    @Test func `Lists that are too long are refused`() {
        let topics = (0...ClientCertificate.topicLimit).map { "com.example.app\($0)" }
        #expect(throws: DERReader.Malformed.self) {
            try ClientCertificate.topics(in: PushCertificate.topicList(topics))
        }
        let long = PushCertificate.topicList(Array(repeating: String(repeating: "x", count: 255), count: 63))
        #expect(long.count > ClientCertificate.topicListLimitBytes)
        #expect(throws: DERReader.Malformed.self) { try ClientCertificate.topics(in: long) }
    }

    @Test func `Damaged PKCS#12 files are refused or give the same certificate`() async throws {
        let made = try await PushCertificate(kind: ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        let whole = try await made.archive(password: "secret", ["-iter", "1", "-nomaciter"])
        let expected = try ClientIdentity(pkcs12: whole, password: "secret").certificate
        var random = SystemRandomNumberGenerator()
        var refused = 0
        for _ in 0..<3000 {
            do throws(SigningError) {
                let identity = try ClientIdentity(pkcs12: Self.damaged(whole, &random), password: "secret")
                #expect(identity.certificate == expected)
            } catch {
                refused += 1
            }
        }
        #expect(refused > 1000)
        #expect(ErrorStack.drain() == "no details")
    }

    @Test func `Damaged certificates are refused or read`() async throws {
        let made = try await PushCertificate(kind: ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        let key = try made.keyPEM
        let whole = try ClientIdentity(certificatePEM: made.certificatePEM, keyPEM: key, password: nil)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            let text = Self.pem(Self.damaged(whole.certificateChain[0], &random))
            do throws(SigningError) {
                let identity = try ClientIdentity(certificatePEM: text, keyPEM: key, password: nil)
                #expect(identity.certificate.topics.count <= ClientCertificate.topicLimit)
            } catch {
                #expect(error.code != .notP256)
            }
        }
        #expect(ErrorStack.drain() == "no details")
    }

    private static func damaged(_ bytes: [UInt8], _ random: inout SystemRandomNumberGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2 where bytes.count > 1: bytes.remove(at: index)
            default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            }
        }
        return bytes
    }

    private static func pem(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
    }
}
