import Crypto
import Foundation
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// `POST /token` and the access tokens that it gives.
@Suite(.timeLimit(.minutes(5)))
struct TokenTests {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private let account: ServiceAccountFixture
    private let start = TestGateway.startTime

    init() throws {
        account = try ServiceAccountFixture.shared.get()
    }

    private func gateway(role: Role = .admin) async throws -> TestGateway {
        let gateway = try await TestGateway()
        try await account.keep(in: gateway, role: role)
        return gateway
    }

    private func token(_ gateway: TestGateway) async throws -> String {
        let answer = try await gateway.exchange(account.jwt(at: gateway.clock.now))
        return try #require(try answer.json["access_token"]?.stringValue, "\(answer.text)")
    }

    @Test func anAssertionIsExchangedForATokenThatWorks() async throws {
        let gateway = try await gateway()
        let answer = try await gateway.exchange(account.jwt(at: start))
        #expect(answer.status == 200)
        #expect(answer.headers[.cacheControl] == "no-store")
        let token = try #require(try answer.json["access_token"]?.stringValue)
        #expect(token.hasPrefix("ha_") && token.utf8.count == 46)
        #expect(answer.text == #"{"access_token":"\#(token)","expires_in":3599,"token_type":"Bearer"}"#)
        #expect(try await gateway.request(bearer: token).status == 200)
        // Nothing but the digest is kept.
        let stored = try await gateway.store.accessToken(Array(SHA256.hash(data: Data(token.utf8))))
        #expect(stored?.token.expiresAt == start + .seconds(3600))
        #expect(stored?.identity.key.id == account.file.keyID)
    }

    @Test(arguments: [
        "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token", "http://127.0.0.1:1/token",
    ])
    func theAudienceIsTheAccountsTokenEndpointOrOneOfGoogles(audience: String) async throws {
        let gateway = try await gateway()
        #expect(try await gateway.exchange(account.jwt(at: start, ["aud": .string(audience)])).status == 200)
        #expect(try await gateway.exchange(account.jwt(at: start, ["aud": .array([.string(audience)])])).status == 200)
    }

    /// What a server that got an assertion for its own endpoint could send on.
    @Test(arguments: [
        "https://evil.example/token", "http://127.0.0.1:8080/token", "http://127.0.0.1:1/token/", "/token",
        "https://push.example.com/herald/token", "https://oauth2.googleapis.com.evil.example/token",
        "https://accounts.google.com/o/oauth2/token",
    ])
    func anAssertionForAnotherEndpointIsNotExchanged(audience: String) async throws {
        let gateway = try await gateway()
        for value in [
            JSONValue.string(audience), .array([.string("https://oauth2.googleapis.com/token"), .string(audience)]),
        ] {
            let answer = try await gateway.exchange(account.jwt(at: start, ["aud": value]))
            #expect(answer.status == 400)
            #expect(try answer.json["error_description"]?.stringValue?.contains("Failed audience check") == true)
        }
    }

    @Test func aKeyWithoutATokenURITakesTheGatewaysOwn() async throws {
        let gateway = try await TestGateway()
        var key = account.file.record(at: start)
        key.tokenURI = nil
        let owner = ServiceAccount(email: account.file.account, role: .admin, createdAt: start)
        #expect(try await gateway.store.insert(owner, with: key, by: .gateway))
        let own = JSONValue.string(TestGateway.publicURL + "/token")
        #expect(try await gateway.exchange(account.jwt(at: start, ["aud": own])).status == 200)
        let other = JSONValue.string("http://127.0.0.1:1/token")
        #expect(try await gateway.exchange(account.jwt(at: start, ["aud": other])).status == 400)
    }

    @Test func anAssertionForAnIDTokenIsNotExchanged() async throws {
        let gateway = try await gateway()
        let answer = try await gateway.exchange(account.jwt(at: start, ["target_audience": .string("x")]))
        #expect(answer.status == 400 && answer.text.contains("target_audience"))
    }

    @Test func theSameAssertionWorksUntilItsEnd() async throws {
        let gateway = try await gateway()
        let assertion = try account.jwt(at: start)
        let first = try await gateway.exchange(assertion)
        let second = try await gateway.exchange(assertion)
        #expect(first.status == 200 && second.status == 200)
        #expect(try first.json["access_token"] != second.json["access_token"])
        gateway.clock.advance(by: .seconds(3600 + 59))
        #expect(try await gateway.exchange(assertion).status == 200)
        gateway.clock.advance(by: .seconds(1))
        #expect(try await gateway.exchange(assertion).status == 400)
    }

    /// Claims that are refused, and a word of the reason.
    private static let badClaims: [(String, [String: JSONValue?], String)] = [
        ("from the future", ["iat": .integer(TestGateway.startTime.seconds + 62)], "Check your iat and exp"),
        (
            "over",
            [
                "iat": .integer(TestGateway.startTime.seconds - 3700),
                "exp": .integer(TestGateway.startTime.seconds - 100),
            ],
            "Check your iat and exp"
        ),
        ("too long", ["exp": .integer(TestGateway.startTime.seconds + 3700)], "Check your iat and exp"),
        (
            "ends before it begins",
            ["iat": .integer(TestGateway.startTime.seconds + 50), "exp": .integer(TestGateway.startTime.seconds)],
            "Check your iat and exp"
        ),
        ("without iat", ["iat": nil], "claims iss, iat and exp"),
        ("without exp", ["exp": nil], "claims iss, iat and exp"),
        ("without iss", ["iss": nil], "claims iss, iat and exp"),
        ("exp as text", ["exp": .string("soon")], "claims iss, iat and exp"),
        ("an endless exp", ["exp": .number("1e300")], "Check your iat and exp"),
        ("for somebody else", ["sub": .string("someone@demo.iam.herald")], "sub must be iss"),
        ("of another account", ["iss": .string("someone@demo.iam.herald")], "Invalid JWT Signature."),
        ("for another service", ["aud": .string("https://fcm.googleapis.com/")], "audience"),
        ("for no URL", ["aud": .string("/token")], "audience"),
        ("without an audience", ["aud": nil], "audience"), ("for an empty list", ["aud": .array([])], "audience"),
    ]

    @Test(arguments: badClaims.map(\.0))
    func badClaimsAreRefused(name: String) async throws {
        let gateway = try await gateway()
        let (_, claims, reason) = try #require(Self.badClaims.first { $0.0 == name })
        let answer = try await gateway.exchange(account.jwt(at: start, claims))
        #expect(answer.status == 400)
        #expect(try answer.json["error"]?.stringValue == "invalid_grant")
        #expect(try answer.json["error_description"]?.stringValue?.contains(reason) == true, "\(answer.text)")
    }

    @Test func clocksMayBeAMinuteApart() async throws {
        let gateway = try await gateway()
        for seconds in [-59, 59] as [Int64] {
            #expect(try await gateway.exchange(account.jwt(at: start + .seconds(seconds))).status == 200)
        }
    }

    @Test func onlyTheKeyItselfSigns() async throws {
        let gateway = try await gateway()
        let stranger = try ServiceAccountFixture.stranger.get()
        let claims = account.claims(at: start)
        let kid = account.file.keyID
        let good = try account.jwt(at: start)
        let parts = good.split(separator: ".")
        let signed =
            Base64URL.text(Array(#"{"alg":"HS256","kid":"\#(kid)"}"#.utf8)) + "." + Base64URL.text(Array(claims.utf8))
        let record = account.file.record(at: start)
        let mac = HMAC<SHA256>.authenticationCode(
            for: Data(signed.utf8), using: SymmetricKey(data: Data(record.publicKey)))
        let forged = [
            // Another key under this one's id, and an id that is unknown.
            try stranger.jwt(claims, header: #"{"alg":"RS256","kid":"\#(kid)"}"#),
            try stranger.jwt(at: start),
            // The public key as the secret of another algorithm, none at all, and others of the same key.
            signed + "." + Base64URL.text(mac),
            Base64URL.text(Array(#"{"alg":"none","kid":"\#(kid)"}"#.utf8)) + "." + parts[1] + ".",
            try account.jwt(claims, header: #"{"alg":"RS512","kid":"\#(kid)"}"#),
            try account.jwt(claims, header: #"{"alg":"RS256"}"#),
            try account.jwt(claims, header: #"{"alg":"RS256","kid":"\#(kid)","crit":["b64"],"b64":true}"#),
            // Claims of one, signature of the other.
            "\(parts[0]).\(Base64URL.text(Array(account.claims(at: start, ["scope": .string("x")]).utf8))).\(parts[2])",
            "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1]).AAAA", "a.b.c", "..", "", "ey",
            String(good.dropLast(9)),
        ]
        for assertion in forged {
            let answer = try await gateway.exchange(assertion)
            #expect(answer.status == 400, "\(assertion)")
            #expect(try answer.json["access_token"] == nil)
            #expect(try await gateway.request(bearer: assertion.isEmpty ? "x" : assertion).status == 401)
        }
        #expect(try await gateway.exchange(good).status == 200)
    }

    /// The seed is part of the test's name.
    @Test(arguments: [11] as [UInt64])
    func noChangedByteGoesThrough(seed: UInt64) async throws {
        let gateway = try await gateway()
        var random = SeededRandom(seed: seed)
        let parts = try account.jwt(at: start).split(separator: ".").map { try #require(Base64URL.bytes($0)) }
        for _ in 0..<300 {
            var changed = parts
            let part = Int.random(in: 0..<3, using: &random)
            let place = Int.random(in: 0..<parts[part].count, using: &random)
            changed[part][place] ^= UInt8.random(in: 1...255, using: &random)
            let assertion = changed.map { Base64URL.text($0) }.joined(separator: ".")
            #expect(try await gateway.exchange(assertion).status == 400, "\(assertion)")
        }
    }

    @Test func deepAndHugeClaimsAreRefused() async throws {
        let gateway = try await gateway()
        let deep = String(repeating: "[", count: 4000)
        for claims in [deep, #"{"iss":\#(deep)"#, #"{"iss":"a","iat":1e999,"exp":-1e999}"#, "[]", "1", "\u{0}"] {
            #expect(try await gateway.exchange(account.jwt(claims)).status == 400)
            #expect(try await gateway.exchange(account.jwt(claims, header: claims)).status == 400)
        }
        let long = try account.jwt(at: start, ["scope": .string(String(repeating: "s", count: 9 << 10))])
        #expect(try await gateway.exchange(long).status == 400)
        #expect(try await gateway.request(bearer: long).status == 401)
    }

    @Test func revokedKeysAndDisabledAccountsGetNothing() async throws {
        let gateway = try await gateway()
        let assertion = try account.jwt(at: start)
        #expect(try await gateway.store.disable(account.file.account, at: start, by: .gateway))
        let disabled = try await gateway.exchange(assertion)
        #expect(disabled.status == 400 && disabled.text.contains("disabled"))
        #expect(try await gateway.store.enable(account.file.account, at: start, by: .gateway))
        #expect(try await gateway.exchange(assertion).status == 200)
        #expect(try await gateway.store.revokeServiceAccountKey(account.file.keyID, at: start, by: .gateway))
        let revoked = try await gateway.exchange(assertion)
        #expect(
            revoked.text
                == #"{"error":"invalid_grant","error_description":"The key of the service account was revoked."}"#)
    }

    @Test func badFormsAreToldInOAuthsWords() async throws {
        let gateway = try await gateway()
        let assertion = try account.jwt(at: start)
        let good = [("grant_type", Self.grantType), ("assertion", assertion)]
        let cases: [([(String, String)], String?, String)] = [
            ([], nil, "invalid_request"),
            ([good[0]], nil, "invalid_request"), ([good[1]], nil, "invalid_request"),
            (good + [good[0]], nil, "invalid_request"),
            ([good[0], ("assertion", "")], nil, "invalid_request"),
            ([good[0], ("assertion", "%zz")], nil, "invalid_request"),
            ([("grant_type", "client_credentials"), good[1]], nil, "unsupported_grant_type"),
            (good, "application/json", "invalid_request"),
            ([good[0], ("assertion", String(repeating: "A", count: 17 << 10))], nil, "invalid_request"),
        ]
        for (fields, contentType, error) in cases {
            let answer = try await gateway.askForToken(fields, contentType: contentType)
            #expect([400, 413].contains(answer.status))
            #expect(try answer.json["error"]?.stringValue == error, "\(answer.text)")
            #expect(try answer.json["error_description"]?.stringValue?.isEmpty == false)
        }
        #expect(
            try await gateway.askForToken(
                good + [("x", "")], contentType: "application/x-www-form-urlencoded; charset=utf-8"
            ).status == 200)
        let wrong = try await gateway.request(.get, "/token", as: nil)
        #expect(wrong.status == 405)
        #expect(try wrong.json["error"]?.stringValue == "invalid_request")
    }

    @Test func aFailingStoreIsTemporary() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await gateway.exchange(account.jwt(at: start))
        #expect(answer.status == 503)
        #expect(try answer.json["error"]?.stringValue == "temporarily_unavailable")
        #expect(answer.headers[.retryAfter] != nil)
        // Nor does it make a caller unauthenticated.
        #expect(try await gateway.request(bearer: "ha_" + String(repeating: "A", count: 43)).status == 503)
        #expect(try await gateway.request(bearer: account.jwt(at: start, ["aud": nil])).status == 503)
    }

    // MARK: access tokens

    @Test func aTokenEndsAfterAnHour() async throws {
        let gateway = try await gateway()
        let token = try await token(gateway)
        gateway.clock.advance(by: .seconds(3599))
        #expect(try await gateway.request(bearer: token).status == 200)
        gateway.clock.advance(by: .seconds(1))
        let answer = try await gateway.request(bearer: token)
        #expect(answer.status == 401)
        #expect(try answer.errorStatus == "UNAUTHENTICATED")
        #expect(try answer.errorCode == nil)
        let details = try #require(try answer.json["error"]).requireList("details")
        #expect(details.contains { $0["reason"]?.stringValue == "ACCESS_TOKEN_EXPIRED" })
    }

    @Test func unknownOverAndRevokedTokensGetTheSameAnswer() async throws {
        let gateway = try await gateway()
        let (first, second) = (try await token(gateway), try await token(gateway))
        let unknown = try await gateway.request(bearer: "ha_" + String(repeating: "A", count: 43))
        #expect(try await gateway.store.revokeServiceAccountKey(account.file.keyID, at: start, by: .gateway))
        #expect(try await gateway.request(bearer: first).text == unknown.text)
        gateway.clock.advance(by: .seconds(3600))
        #expect(try await gateway.request(bearer: second).text == unknown.text)
        #expect(unknown.status == 401 && !unknown.text.contains("ha_"))
    }

    @Test func theRoleIsTheAccounts() async throws {
        let gateway = try await gateway(role: .sender)
        let token = try await token(gateway)
        #expect(try await gateway.request(bearer: token).status == 200)
        let refused = try await gateway.request(bearer: token, "/v1/projects/demo/registrations")
        #expect(refused.status == 403)
        #expect(try refused.errorMessage?.hasPrefix("The service account has the role sender;") == true)
    }

    @Test func anotherProjectIsForbidden() async throws {
        let gateway = try await gateway()
        let token = try await token(gateway)
        for path in ["/v1/projects/other/messages", "/v1/projects/nowhere/messages"] {
            let answer = try await gateway.request(bearer: token, path)
            #expect(answer.status == 403)
            #expect(try answer.errorMessage == "The service account does not work on this project.")
        }
        let send = try await gateway.request(
            .post, "/v1/projects/other/messages:send", "{}", as: nil, headers: [.authorization: "Bearer \(token)"])
        #expect(try send.errorCode == "SENDER_ID_MISMATCH")
    }

    // MARK: JWTs as bearers

    @Test func aSelfSignedJWTIsABearer() async throws {
        let gateway = try await gateway()
        let email = JSONValue.string(account.file.account.rawValue)
        let claims: [[String: JSONValue?]] = [
            ["aud": nil, "sub": email], ["aud": .string("https://fcm.googleapis.com/"), "sub": email, "scope": nil],
            ["aud": .string("https://iid.googleapis.com/")], ["aud": .string(TestGateway.publicURL)],
            ["aud": .string(TestGateway.publicURL + "/")],
            ["aud": nil, "scope": .string("email https://www.googleapis.com/auth/firebase.messaging")],
        ]
        for others in claims {
            let jwt = try account.jwt(at: start, others)
            #expect(try await gateway.request(bearer: jwt).status == 200)
        }
        let jwt = try account.jwt(at: start, ["aud": nil])
        gateway.clock.advance(by: .seconds(3659))
        #expect(try await gateway.request(bearer: jwt).status == 200)
        gateway.clock.advance(by: .seconds(1))
        let over = try await gateway.request(bearer: jwt)
        #expect(over.status == 401 && over.text.contains("ACCESS_TOKEN_EXPIRED"))
        #expect(try over.errorMessage?.contains("Check your iat and exp") == true)
    }

    /// A JWT that was made for another server, or for another purpose, opens nothing here.
    static let foreignBearers: [(String, [String: JSONValue?])] = [
        ("for Google's token endpoint", [:]),
        ("for the account's token endpoint", ["aud": .string("http://127.0.0.1:1/token")]),
        ("for the gateway's token endpoint", ["aud": .string(TestGateway.publicURL + "/token")]),
        ("for another service of Google's", ["aud": .string("https://storage.googleapis.com/")]),
        ("for another gateway", ["aud": .string("https://push.example.com")]),
        (
            "for two",
            ["aud": .array([.string("https://fcm.googleapis.com/"), .string("https://oauth2.googleapis.com/token")])]
        ),
        ("for an empty audience", ["aud": .array([])]),
        ("without audience and scope", ["aud": nil, "scope": nil]),
        ("with another scope", ["aud": nil, "scope": .string("https://www.googleapis.com/auth/datastore")]),
        (
            "with a scope that only begins so",
            ["aud": nil, "scope": .string("https://www.googleapis.com/auth/firebase.messaging.x")]
        ),
        ("for an ID token", ["aud": .string("https://fcm.googleapis.com/"), "target_audience": .string("x")]),
        ("for an ID token without audience", ["aud": nil, "target_audience": .integer(1)]),
        (
            "a custom token of Firebase",
            [
                "aud": .string(
                    "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"),
                "uid": .string("alice"), "scope": nil,
            ]
        ),
    ]

    @Test(arguments: foreignBearers.map(\.0)) func aJWTForAnotherPurposeIsNoBearer(name: String) async throws {
        let gateway = try await gateway()
        let (_, claims) = try #require(Self.foreignBearers.first { $0.0 == name })
        let answer = try await gateway.request(bearer: account.jwt(at: start, claims))
        #expect(answer.status == 401)
        #expect(try answer.errorStatus == "UNAUTHENTICATED")
        #expect(try answer.errorMessage?.hasPrefix("Invalid JWT") == true)
    }

    @Test func aJWTOfARevokedKeyIsToldSo() async throws {
        let gateway = try await gateway()
        #expect(try await gateway.store.revokeServiceAccountKey(account.file.keyID, at: start, by: .gateway))
        let answer = try await gateway.request(bearer: account.jwt(at: start, ["aud": nil]))
        #expect(answer.status == 401)
        #expect(try answer.errorMessage == "The key of the service account was revoked.")
        #expect(answer.text.contains("ACCOUNT_STATE_INVALID"))
    }

    @Test func errorsHaveTheShapeOfTheAPI() async throws {
        let gateway = try await gateway()
        let answer = try await gateway.request(
            .post, "/iid/v1:batchAdd", "{}", as: nil, headers: [.authorization: "Bearer ey.a.b"])
        #expect(answer.status == 401)
        #expect(try answer.json["error"]?.stringValue?.hasPrefix("Invalid JWT") == true)
    }
}
