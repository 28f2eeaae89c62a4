import AsyncHTTPClient
import Crypto
import Foundation
import Simulators
import TestSupport
import Testing

@Suite("A provider token is checked as Apple checks it", .timeLimit(.minutes(5)))
struct ProviderTokenTests {
    /// The status and reason for a push with this token.
    private func answer(_ make: (SimulatorHarness) throws -> String?) async throws -> PushAnswer {
        var result: PushAnswer?
        try await SimulatorHarness.run { harness async throws in
            var push = TestPush()
            push.authorization = try make(harness)
            push.hasAuthorization = push.authorization != nil
            result = try await harness.send(push)
        }
        return try #require(result)
    }

    private func ownKey(_ harness: SimulatorHarness) throws -> P256.Signing.PrivateKey {
        try P256.Signing.PrivateKey(
            pemRepresentation: String(contentsOfFile: harness.identity.keyFile, encoding: .utf8))
    }

    @Test("No token is MissingProviderToken")
    func missing() async throws {
        let answer = try await answer { _ in nil }
        #expect(answer.status == 403)
        #expect(answer.reason == "MissingProviderToken")
    }

    @Test(
        "The age of a token decides",
        arguments: [
            (3600, 200, ""), (3601, 403, "ExpiredProviderToken"),
            (-300, 200, ""), (-301, 403, "InvalidProviderToken"),
        ] as [(Int64, Int, String)])
    func age(seconds: Int64, status: Int, reason: String) async throws {
        let answer = try await answer { try "bearer " + $0.token(issuedSecondsAgo: seconds) }
        #expect(answer.status == status)
        #expect((answer.reason ?? "") == reason)
    }

    @Test("A DER signature is accepted like a raw one")
    func derSignature() async throws {
        let answer = try await answer { harness in
            try "bearer "
                + SimulatorHarness.token(
                    header: ["alg": "ES256", "kid": harness.identity.keyID],
                    claims: ["iss": harness.identity.teamID, "iat": harness.clock.seconds], ownKey(harness),
                    usesDER: true)
        }
        #expect(answer.status == 200)
    }

    enum Fault: CaseIterable {
        case upperCaseBearer, noScheme, twoParts, notBase64, otherAlgorithm, unknownKey, otherTeam, otherSigner,
            noIssuedAt, textIssuedAt, fractionIssuedAt, changedClaims, longSignature
    }

    private func token(with fault: Fault, _ harness: SimulatorHarness) throws -> String {
        var header: [String: Any] = ["alg": "ES256", "kid": harness.identity.keyID]
        var claims: [String: Any] = ["iss": harness.identity.teamID, "iat": harness.clock.seconds]
        var key = try ownKey(harness)
        switch fault {
        case .upperCaseBearer: return try "Bearer " + harness.token()
        case .noScheme: return try harness.token()
        case .twoParts: return "bearer a.b"
        case .notBase64: return "bearer !.!.!"
        case .otherAlgorithm: header["alg"] = "HS256"
        case .unknownKey: header["kid"] = "UNKNOWNKEY"
        case .otherTeam: claims["iss"] = "OTHERTEAM1"
        case .otherSigner: key = P256.Signing.PrivateKey()
        case .noIssuedAt: claims["iat"] = nil
        case .textIssuedAt: claims["iat"] = "\(harness.clock.seconds)"
        case .fractionIssuedAt: claims["iat"] = Double(harness.clock.seconds) + 0.5
        case .changedClaims:
            var parts = try harness.token().split(separator: ".").map(String.init)
            claims["iat"] = harness.clock.seconds - 1
            parts[1] = SimulatorHarness.base64URL(try JSONSerialization.data(withJSONObject: claims))
            return "bearer " + parts.joined(separator: ".")
        case .longSignature: return try "bearer " + harness.token() + "AAAA"
        }
        return try "bearer " + SimulatorHarness.token(header: header, claims: claims, key)
    }

    @Test("Everything else that is wrong is InvalidProviderToken", arguments: Fault.allCases)
    func invalid(_ fault: Fault) async throws {
        let answer = try await answer { try token(with: fault, $0) }
        #expect(answer.status == 403)
        #expect(answer.reason == "InvalidProviderToken")
    }

    @Test("A connection belongs to the team and key of its first push")
    func connectionIsBound() async throws {
        let directory = try TestDirectory()
        var identity = try SimulatorIdentity(directory: directory.path, topics: [])
        let otherTeam = P256.Signing.PrivateKey()
        let otherKey = P256.Signing.PrivateKey()
        identity.providerKeys += [
            AcceptedProviderKey(teamID: "OTHERTEAM1", keyID: "OTHERKEY01", publicKey: otherTeam.publicKey),
            AcceptedProviderKey(teamID: identity.teamID, keyID: "OTHERKEY02", publicKey: otherKey.publicKey),
        ]
        try await SimulatorHarness.run(identity) { harness async throws in
            #expect(try await harness.send().status == 200)
            var push = TestPush()
            push.authorization =
                try "bearer "
                + SimulatorHarness.token(
                    header: ["alg": "ES256", "kid": "OTHERKEY01"],
                    claims: ["iss": "OTHERTEAM1", "iat": harness.clock.seconds], otherTeam)
            #expect(try await harness.send(push).reason == "InvalidProviderToken")
            // On a connection of its own it is welcome.
            let client = try SimulatorHarness.makeClient(trusting: identity.caFile)
            #expect(try await harness.send(push, over: client).status == 200)
            try await client.shutdown()
            push.authorization =
                try "bearer "
                + SimulatorHarness.token(
                    header: ["alg": "ES256", "kid": "OTHERKEY02"],
                    claims: ["iss": identity.teamID, "iat": harness.clock.seconds], otherKey)
            #expect(try await harness.send(push).reason == "UnrelatedKeyIdInToken")
            #expect(harness.simulator.recording.pushes.map(\.connection) == [1, 1, 2, 1])
        }
    }

    @Test("A second token within 20 minutes on a connection is one too many")
    func earlyRenewal() async throws {
        try await SimulatorHarness.run { harness async throws in
            var first = TestPush()
            first.authorization = try "bearer " + harness.token()
            #expect(try await harness.send(first).status == 200)
            harness.clock.advance(seconds: 20 * 60 - 1)
            var second = TestPush()
            second.authorization = try "bearer " + harness.token()
            let refused = try await harness.send(second)
            #expect(refused.status == 429)
            #expect(refused.reason == "TooManyProviderTokenUpdates")
            // The old one is still good; so is a new one in time.
            #expect(try await harness.send(first).status == 200)
            harness.clock.advance(seconds: 1)
            second.authorization = try "bearer " + harness.token()
            #expect(try await harness.send(second).status == 200)
        }
    }

    @Test("A token that was old when the connection began may be renewed soon")
    func renewalByIssueTime() async throws {
        try await SimulatorHarness.run { harness async throws in
            var push = TestPush()
            push.authorization = try "bearer " + harness.token(issuedSecondsAgo: 45 * 60)
            #expect(try await harness.send(push).status == 200)
            harness.clock.advance(seconds: 1)
            push.authorization = try "bearer " + harness.token()
            #expect(try await harness.send(push).status == 200)
        }
    }
}
