import HTTPListener
import HTTPTypes
import HummingbirdTesting
import JSON
import NIOCore
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import Testing

@testable import GatewayAPI

/// How often an address may present what does not work.
@Suite(.timeLimit(.minutes(5)))
struct FailedAuthenticationTests {
    private static let path = "/v1/projects/demo/messages"
    private static let stranger: HTTPFields = [.forwardedFor: "192.0.2.1"]

    /// A clock that only a test moves.
    private final class Dial: Sendable {
        private let time = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { time.withLock { $0 } }

        func advance(by duration: Duration) {
            time.withLock { $0 += duration }
        }
    }

    private func limits(_ dial: Dial) -> ClientRateLimits {
        ClientRateLimits(
            ClientRateLimits.Rates(address: 0, registration: 0, project: 0, failures: 1, proxies: 1),
            now: { dial.now })
    }

    private func status(
        _ gateway: TestGateway, _ credential: String, from address: String = "192.0.2.1",
        over services: GatewayServices? = nil
    ) async throws -> Int {
        try await gateway.request(
            .get, Self.path, as: nil, headers: [.forwardedFor: address, .authorization: "Bearer \(credential)"]
        ).status
    }

    private func wrongKey(_ number: Int) -> String {
        let digits = String(number)
        return "hk_" + String(repeating: "0", count: 16 - digits.count) + digits + "_"
            + String(repeating: "A", count: 43)
    }

    @Test func tenFailuresInARowAreAnswered429UntilTimePasses() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(clientLimits: limits(dial))
        for number in 0..<12 { #expect(try await status(gateway, wrongKey(number)) == (number < 10 ? 401 : 429)) }
        let answer = try await gateway.request(
            .get, Self.path, as: nil, headers: Self.stranger.adding("Bearer \(wrongKey(1))"))
        #expect(answer.headers[.retryAfter] == "1")
        #expect(try answer.errorMessage?.contains("limits.failedAuthenticationRate") == true)
        // Others are not touched; and a second later one more is looked at.
        #expect(try await status(gateway, wrongKey(1), from: "192.0.2.2") == 401)
        dial.advance(by: .seconds(1))
        #expect(try await status(gateway, wrongKey(1)) == 401)
        #expect(try await status(gateway, wrongKey(1)) == 429)
    }

    /// The store is closed: a request that reaches it is answered 503.
    @Test func aLimitedAddressCostsNoReadOfTheStore() async throws {
        let gateway = try await TestGateway(clientLimits: limits(Dial()))
        for number in 0..<10 { #expect(try await status(gateway, wrongKey(number)) == 401) }
        try gateway.store.close()
        let key = try #require(gateway.keys[.sender]).text
        for credential in [wrongKey(99), key, "ha_" + String(repeating: "A", count: 43), "a.b.c"] {
            #expect(try await status(gateway, credential) == 429)
        }
        // Another address is looked up, and a store that fails is not its failure.
        for _ in 0..<30 { #expect(try await status(gateway, wrongKey(99), from: "192.0.2.3") == 503) }
    }

    @Test func aCredentialThatWorkedLatelyGoesOnBehindALimitedAddress() async throws {
        let gateway = try await TestGateway(clientLimits: limits(Dial()))
        let key = try #require(gateway.keys[.sender]).text
        let application = gateway.application
        try await application.test(.router) { client in
            func status(_ credential: String) async throws -> Int {
                try await client.executeRequest(
                    uri: Self.path, method: .get, headers: Self.stranger.adding("Bearer \(credential)"), body: nil
                ).status.code
            }
            #expect(try await status(key) == 200)
            for number in 0..<20 { #expect(try await status(wrongKey(number)) == (number < 10 ? 401 : 429)) }
            #expect(try await status(key) == 200)
            // Its id alone opens nothing.
            let id = try #require(APIKey.id(in: key))
            #expect(try await status("hk_\(id)_\(String(repeating: "A", count: 43))") == 429)
        }
    }

    /// Strangers behind the same address, as behind a NAT or a proxy that does not say for whom it asks.
    @Test func whatAnAccountsKnownKeySignedGoesOnBehindALimitedAddress() async throws {
        let gateway = try await TestGateway(clientLimits: limits(Dial()))
        let account = try ServiceAccountFixture.shared.get()
        try await account.keep(in: gateway)
        let application = gateway.application
        try await application.test(.router) { client in
            func status(_ credential: String) async throws -> Int {
                try await client.executeRequest(
                    uri: Self.path, method: .get, headers: Self.stranger.adding("Bearer \(credential)"), body: nil
                ).status.code
            }
            func exchange(_ assertion: String) async throws -> Int {
                var headers = Self.stranger
                headers[.contentType] = "application/x-www-form-urlencoded"
                let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
                return try await client.executeRequest(
                    uri: "/token", method: .post, headers: headers, body: ByteBuffer(string: form)
                ).status.code
            }
            func assertion() throws -> String {
                gateway.clock.advance(by: .seconds(1))
                return try account.jwt(at: gateway.clock.now)
            }
            func bearer() throws -> String {
                gateway.clock.advance(by: .seconds(1))
                return try account.jwt(at: gateway.clock.now, ["aud": .string(TestGateway.publicURL)])
            }
            #expect(try await exchange(assertion()) == 200)
            for number in 0..<20 { #expect(try await status(wrongKey(number)) == (number < 10 ? 401 : 429)) }
            for _ in 0..<5 {
                #expect(try await exchange(assertion()) == 200)
                #expect(try await status(bearer()) == 200)
            }
            // The key's id alone opens nothing, and an unknown key is not looked up.
            let forged = String(try bearer().dropLast(8)) + "AAAAAAAA"
            #expect(try await status(forged) == 429)
            let stranger = try ServiceAccountFixture.stranger.get()
            #expect(try await exchange(stranger.jwt(at: gateway.clock.now)) == 429)
            _ = try await gateway.store.revokeServiceAccountKey(
                account.file.keyID, at: gateway.clock.now, by: CredentialUse(id: "test"))
            #expect(try await status(bearer()) == 401)
        }
    }

    @Test func whatWorksIsNotCounted() async throws {
        let gateway = try await TestGateway(clientLimits: limits(Dial()))
        let key = try #require(gateway.keys[.sender]).text
        for _ in 0..<30 { #expect(try await status(gateway, key) == 200) }
        for number in 0..<11 { #expect(try await status(gateway, wrongKey(number)) == (number < 10 ? 401 : 429)) }
    }

    @Test func assertionsThatProveNothingCountToo() async throws {
        let gateway = try await TestGateway(clientLimits: limits(Dial()))
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c"
        for number in 0..<12 {
            let answer = try await gateway.request(
                .post, "/token", form, as: nil,
                headers: [.forwardedFor: "192.0.2.1", .contentType: "application/x-www-form-urlencoded"])
            #expect(answer.status == (number < 10 ? 400 : 429), "\(answer.text)")
        }
    }
}

extension HTTPFields {
    fileprivate func adding(_ authorization: String) -> HTTPFields {
        var fields = self
        fields[.authorization] = authorization
        return fields
    }
}
