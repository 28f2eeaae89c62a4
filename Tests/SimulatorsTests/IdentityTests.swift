import Crypto
import Foundation
import SwiftASN1
import TestSupport
import Testing
import X509

@testable import Simulators

@Suite("An identity is made once and kept", .timeLimit(.minutes(5)))
struct IdentityTests {
    @Test("A restart keeps every file, and private ones are private")
    func kept() throws {
        let directory = try TestDirectory()
        let first = try SimulatorIdentity(directory: directory.path, topics: ["com.example.app"])
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(
            names
                == [
                    "AuthKey_\(first.keyID).p8", "ca-key.pem", "ca.pem", "provider-keys.json", "server-key.pem",
                    "server.pem",
                ].sorted())
        let before = try names.map { try String(contentsOfFile: directory.file($0), encoding: .utf8) }
        let second = try SimulatorIdentity(directory: directory.path, topics: [])
        #expect(try names.map { try String(contentsOfFile: directory.file($0), encoding: .utf8) } == before)
        #expect(second.keyID == first.keyID)
        #expect(second.teamID == first.teamID)
        #expect(second.providerKeys == first.providerKeys)
        #expect(first.keyID.wholeMatch(of: /[A-Z0-9]{10}/) != nil)
        #expect(first.teamID.wholeMatch(of: /[A-Z0-9]{10}/) != nil)
        for name in ["ca-key.pem", "server-key.pem", "AuthKey_\(first.keyID).p8"] {
            let mode = try FileManager.default.attributesOfItem(atPath: directory.file(name))[.posixPermissions]
            #expect((mode as? NSNumber)?.intValue == 0o600)
        }
    }

    @Test("The same .p8 is accepted after a restart of the simulator")
    func acceptedAfterRestart() async throws {
        let directory = try TestDirectory()
        for _ in 0..<2 {
            let identity = try SimulatorIdentity(directory: directory.path, topics: [])
            try await SimulatorHarness.run(identity) { harness async throws in
                let answer = try await harness.send()
                #expect(answer.status == 200)
            }
        }
    }

    @Test("An expired server certificate is renewed, the CA stays")
    func renewal() throws {
        let directory = try TestDirectory()
        let now = Date()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [], now: now)
        let ca = try String(contentsOfFile: identity.caFile, encoding: .utf8)
        let server = try String(contentsOfFile: directory.file("server.pem"), encoding: .utf8)
        let later = now.addingTimeInterval(5.1 * 365 * 86_400)
        _ = try SimulatorIdentity(directory: directory.path, topics: [], now: later)
        let renewed = try String(contentsOfFile: directory.file("server.pem"), encoding: .utf8)
        #expect(renewed != server)
        #expect(try Certificate(pemEncoded: renewed).notValidAfter > later)
        #expect(try String(contentsOfFile: identity.caFile, encoding: .utf8) == ca)
        _ = try SimulatorIdentity(
            directory: directory.path, topics: [], now: later.addingTimeInterval(5.1 * 365 * 86_400))
        #expect(try String(contentsOfFile: identity.caFile, encoding: .utf8) != ca)
    }

    @Test("A missing half of a pair is made again")
    func halfPair() async throws {
        let directory = try TestDirectory()
        _ = try SimulatorIdentity(directory: directory.path, topics: [])
        try FileManager.default.removeItem(atPath: directory.file("server-key.pem"))
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        try await SimulatorHarness.run(identity) { harness async throws in
            let answer = try await harness.send()
            #expect(answer.status == 200)
        }
    }

    @Test(
        "A garbled file is refused by name, with what to do",
        arguments: [
            ("ca.pem", "is not a certificate in PEM; delete ca.pem and ca-key.pem"),
            ("ca-key.pem", "is not a P-256 private key in PEM; delete ca.pem and ca-key.pem"),
            ("server.pem", "is not a certificate in PEM; delete server.pem and server-key.pem"),
            ("server-key.pem", "is not a P-256 private key in PEM; delete server.pem and server-key.pem"),
            ("provider-keys.json", "is not JSON; mend it, or delete it"),
            ("AuthKey", "is not a P-256 private key in PEM; delete it"),
        ])
    func garbled(name: String, problem: String) throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        let file = name == "AuthKey" ? identity.keyFile : directory.file(name)
        try "garbled".write(toFile: file, atomically: true, encoding: .utf8)
        let error = #expect(throws: SimulatorError.self) {
            try SimulatorIdentity(directory: directory.path, topics: [])
        }
        #expect(error?.description.contains("\(name == "AuthKey" ? identity.keyID : name)") == true)
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test("A key added by hand is accepted")
    func addedKey() async throws {
        let directory = try TestDirectory()
        let own = try SimulatorIdentity(directory: directory.path, topics: [])
        let key = P256.Signing.PrivateKey()
        let added = AcceptedProviderKey(teamID: "ADDEDTEAM1", keyID: "ADDEDKEY01", publicKey: key.publicKey)
        try JSONEncoder().encode([added] + own.providerKeys)
            .write(to: URL(filePath: directory.file("provider-keys.json")))
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        #expect(identity.keyID == own.keyID)
        try await SimulatorHarness.run(identity) { harness async throws in
            var push = TestPush()
            push.authorization =
                try "bearer "
                + SimulatorHarness.token(
                    header: ["alg": "ES256", "kid": "ADDEDKEY01"],
                    claims: ["iss": "ADDEDTEAM1", "iat": harness.clock.seconds], key)
            #expect(try await harness.send(push).status == 200)
        }
    }
}
