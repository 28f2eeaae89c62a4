import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

extension TestGateway {
    /// The service account that makes custom tokens, kept in the store.
    func backend() async throws -> ServiceAccountFixture {
        let fixture = try ServiceAccountFixture.shared.get()
        if try await store.serviceAccountKey(fixture.file.keyID) == nil { try await fixture.keep(in: self) }
        return fixture
    }

    /// A custom token as Node's SDK makes it, without a key id; claims of `others` replace or, `nil`, remove them.
    func customToken(
        _ user: String, hasKeyID: Bool = false, _ others: [String: JSONValue?] = [:]
    ) async throws -> String {
        let backend = try await backend()
        var claims: [String: JSONValue?] = [
            "aud": .string(CustomToken.audience), "sub": .string(backend.file.account.rawValue),
            "uid": .string(user), "scope": nil, "claims": .object([.init("level", .integer(3))]),
        ]
        for (name, value) in others { claims[name] = .some(value) }
        return try backend.jwt(
            backend.claims(at: clock.now, claims), header: hasKeyID ? nil : #"{"alg":"RS256","typ":"JWT"}"#)
    }

    /// Registers an installation with a user that it proves.
    func register(_ install: Install, _ deviceToken: String = "00aa11", user: String) async throws -> Answer {
        try await register(install, deviceToken, more: #","userToken":"\#(try await customToken(user))""#)
    }
}

extension Answer {
    /// `token` of a registration.
    fileprivate var token: String { get throws { try #require(try json["token"]?.stringValue, "\(text)") } }
    /// `reason` of the detail for programs.
    fileprivate var preciseReason: String? {
        get throws {
            guard case .array(let details)? = try json["error"]?["details"] else { return nil }
            return details.compactMap { $0["reason"]?.stringValue }.first
        }
    }
}

/// What is in every copy of an app, a client key, and what leaks, device and registration tokens, open nothing of others.
@Suite(.timeLimit(.minutes(5)))
struct OwnershipTests {
    private static let path = "/v1/projects/demo/registrations"
    private static let topics = "topicSubscriptions"

    private static func body(_ deviceToken: String = "00aa11", _ more: String = "") -> String {
        #"{"ios":{"apns_token":"\#(deviceToken.deviceToken)","bundle_id":"com.example.app"}\#(more)}"#
    }

    private func users(_ user: String, _ gateway: TestGateway) async throws -> Int {
        let answer = try await gateway.request(.get, "\(Self.path)?filter=user%3D\(user)")
        guard case .array(let found)? = try answer.json["registrations"] else { return 0 }
        return found.count
    }

    // MARK: Users

    @Test func aClientKeyDoesNotReceiveAnotherUsersPushes() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let mallory = try await gateway.install()
        let said = try await gateway.register(mallory, more: #","user":"alice""#)
        #expect(said.status == 403)
        #expect(try said.preciseReason == "USER_NOT_PROVEN")
        #expect(try said.badFields == ["user"])
        #expect(said.text.contains("userToken") && said.text.contains("PATCH"))
        let bare = try await gateway.request(.post, Self.path, Self.body("01", #","user":"alice""#), as: .client)
        #expect(bare.status == 403)
        let own = try await gateway.register(mallory)
        let patch = try await gateway.request(
            .patch, "\(Self.path)/\(mallory.id)", #"{"user":"alice"}"#, of: mallory)
        #expect(own.status == 200 && patch.status == 403)
        #expect(try await users("alice", gateway) == 0)
        let sent = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"notification":{"title":"x"}},"target":{"user":"alice"}}"#, as: .sender)
        #expect(try sent.preciseReason == "USER_UNKNOWN")
    }

    @Test(arguments: [false, true])
    func aCustomTokenOfTheProjectProvesItsUser(hasKeyID: Bool) async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let token = try await gateway.customToken("alice", hasKeyID: hasKeyID)
        let made = try await gateway.register(install, more: #","user":"alice","userToken":"\#(token)""#)
        #expect(made.status == 200, "\(made.text)")
        #expect(try await users("alice", gateway) == 1)
        // An hour later the app says again what is known.
        gateway.clock.advance(by: .seconds(7200))
        #expect(try await gateway.register(install, more: #","user":"alice""#).token == made.token)
        // Another user needs a proof of their own.
        #expect(try await gateway.register(install, more: #","user":"bob""#).status == 403)
        let bob = try await gateway.customToken("bob", hasKeyID: hasKeyID)
        let mixed = try await gateway.register(install, more: #","user":"alice","userToken":"\#(bob)""#)
        #expect(mixed.status == 400)
        #expect(try mixed.badFields == ["user_token"])
        let patched = try await gateway.request(
            .patch, "\(Self.path)/\(install.id)", #"{"userToken":"\#(bob)"}"#, of: install)
        #expect(try patched.json["user"] == .string("bob"), "\(patched.text)")
        #expect(try await users("alice", gateway) == 0)
        // Signing out needs none.
        #expect(try await gateway.register(install, more: #","user":"""#).status == 200)
        #expect(try await users("bob", gateway) == 0)
    }

    private static let wrong: [([String: String?], String)] = [
        (["aud": "https://oauth2.googleapis.com/token"], "aud must be"), (["uid": ""], "uid must be"),
        (["uid": " "], "uid must be"), (["uid": nil], "uid must be"), (["sub": "alice"], "sub must be iss"),
        (["exp": "9"], "three base64url parts"),
        (["iss": "other@demo.iam.gserviceaccount.com", "sub": nil], "Signature"),
    ]

    @Test(arguments: wrong)
    func aCustomTokenThatIsNotOneIsRefused(claims: [String: String?], text: String) async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let token = try await gateway.customToken("alice", claims.mapValues { $0.map { .string($0) } })
        let answer = try await gateway.register(install, more: #","userToken":"\#(token)""#)
        #expect(answer.status == 403)
        #expect(try answer.badFields == ["user_token"])
        #expect(answer.text.contains(text) && !answer.text.contains(token), "\(answer.text)")
        #expect(try await users("alice", gateway) == 0)
    }

    @Test func aCustomTokenOfLongAgoOfAStrangerOrOfARevokedKeyIsRefused() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let old = try await gateway.customToken("alice")
        gateway.clock.advance(by: .seconds(3661))
        let stranger = try ServiceAccountFixture.stranger.get()
        func forged() throws -> String {
            try stranger.jwt(
                stranger.claims(
                    at: gateway.clock.now, ["aud": .string(CustomToken.audience), "uid": .string("alice")]))
        }
        for token in [old, try forged(), "a.b.c", "x"] {
            #expect(try await gateway.register(install, more: #","userToken":"\#(token)""#).status == 403)
        }
        try await stranger.keep(in: gateway)
        _ = try await gateway.store.revokeServiceAccountKey(
            stranger.file.keyID, at: gateway.clock.now, by: CredentialUse(id: "test"))
        #expect(try await gateway.register(install, more: #","userToken":"\#(try forged())""#).status == 403)
        #expect(try await users("alice", gateway) == 0)
    }

    @Test func aBackendSetsTheUserAndNothingElse() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        let token = try await gateway.register(install).token
        let path = "\(Self.path)/\(token.replacing(":", with: "%3A"))"
        let set = try await gateway.request(.patch, path, #"{"user":"alice"}"#, as: .sender)
        #expect(set.status == 200, "\(set.text)")
        #expect(try set.json["user"] == .string("alice") && set.json["token"] == .string(token))
        for body in [#"{"ios":{"apns_token":"\#("00".deviceToken)"},"user":"bob"}"#, #"{"ios":{}}"#] {
            #expect(try await gateway.request(.patch, path, body, as: .sender).status == 403)
        }
        #expect(try await gateway.request(.patch, path, "{}", as: .sender).badFields == ["ios"])
        // By the installation id, which is no secret, a sender is not told the token; GET and DELETE are not a sender's.
        let byID = try await gateway.request(.patch, "\(Self.path)/\(install.id)", #"{"user":"alice"}"#, as: .sender)
        #expect(try byID.status == 200 && byID.json["token"] == nil)
        #expect(try await gateway.request(.get, path, as: .sender).status == 403)
        #expect(try await gateway.request(.delete, path, as: .sender).status == 403)
        #expect(try await gateway.request(.patch, path, #"{"user":" \t"}"#, as: .sender).status == 400)
        #expect(try await gateway.request(.patch, path, #"{"user":"\u200b \u2060"}"#, as: .sender).status == 400)
        // The audit says who.
        let audit = try await gateway.request(.get, "\(Self.path)/\(install.id)/audit").json
        let entries = try audit.requireList("entries")
        let sender = try #require(gateway.keys[.sender]).record.id
        #expect(entries.map { $0["cause"] } == [.string("USER_ASSIGNED")])
        #expect(entries.first?["credential"] == .string("apiKey:\(sender)"))
        let log = try await gateway.request(.get, "/v1/projects/demo/audit").requireList("entries")
        #expect(log.first?["action"] == .string("registration.changeUser"))
        #expect(log.first?["credential"]?["id"] == .string(sender) && log.first?["details"]?["user"] != nil)
    }

    // MARK: Registrations

    @Test func aClientKeyWithoutAnInstallationRegistersNothing() async throws {
        let gateway = try await TestGateway(webApps: ["www.example.com"])
        let answer = try await gateway.request(.post, Self.path, Self.body(), as: .client)
        #expect(answer.status == 403)
        #expect(try answer.preciseReason == "INSTALLATION_REQUIRED")
        let key = WebRegistrationTests.key
        let keys = #"{"auth":"AAAAAAAAAAAAAAAAAAAAAA","p256dh":"\#(key)"}"#
        let web = #"{"endpoint":"https://push.example.com/a","keys":\#(keys)}"#
        #expect(try await gateway.request(.post, "/v1/web/iid", web, as: .client).status == 403)
        let install = try await gateway.install()
        #expect(try await gateway.request(.post, "/v1/web/iid", web, of: install).status == 200)
        #expect(try await gateway.request(.post, Self.path, Self.body()).status == 200, "an admin's key needs none")
        let open = try await TestGateway(requiresInstallation: false)
        #expect(try await open.request(.post, Self.path, Self.body(), as: .client).status == 200)
    }

    @Test func whoKnowsADeviceTokenGetsNoRegistrationTokenAndNoTopics() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let victim = try await gateway.install()
        let token = try await gateway.register(victim, user: "alice").token
        let news = "\(Self.path)/\(victim.id)/\(Self.topics)/news"
        #expect(try await gateway.request(.post, "\(news):subscribe", of: victim).status == 200)

        let mallory = try await gateway.install("dInstallationTwo000000")
        let stolen = try await gateway.register(mallory)
        #expect(try stolen.status == 200 && stolen.token != token)
        let shown = try await gateway.request(.get, "\(Self.path)/\(mallory.id)", of: mallory).json
        #expect(shown["user"] == nil && shown["token"] != .string(token))
        let list = try await gateway.request(.get, "\(Self.path)/\(mallory.id)/\(Self.topics)", of: mallory)
        #expect(list.text == "{}")
        let ended = try await gateway.request(.get, "\(Self.path)/\(victim.id)").json
        #expect(ended["state"] == .string("ENDED") && ended["endCause"] == .string("SUPERSEDED"))
        #expect(try await users("alice", gateway) == 0)
        // Without an installation it is the same.
        let bare = try await gateway.request(.post, Self.path, Self.body(), as: .client)
        #expect(try bare.token != token && bare.token != stolen.token)

        // The victim's app refreshes, as on each start: user and topics are there again.
        gateway.clock.advance(by: .seconds(29 * 86_400))
        let renewed = try await gateway.request(
            .post, "/v1/projects/demo/installations/\(victim.id)/authTokens:generate", as: nil,
            headers: [
                .googleAPIKey: try #require(gateway.keys[.client]).text,
                .authorization: "FIS_v2 \(victim.refreshToken)",
            ])
        let back = TestGateway.Install(
            id: victim.id, refreshToken: victim.refreshToken,
            authToken: try #require(try renewed.json["token"]?.stringValue))
        #expect(try await gateway.register(back).json["name"] == .string("projects/demo/registrations/\(victim.id)"))
        #expect(try await users("alice", gateway) == 1)
        #expect(try await gateway.request(.get, news, of: back).status == 200)
        let audit = try await gateway.request(.get, "\(Self.path)/\(victim.id)/audit").text
        #expect(audit.contains("installation:\(mallory.id)") && audit.contains("installation:\(victim.id)"))
    }

    @Test func aRegistrationTokenThatLeakedOpensNothing() async throws {
        let gateway = try await TestGateway()
        let victim = try await gateway.install()
        let token = try await gateway.register(victim).token
        let mallory = try await gateway.install("dInstallationTwo000000")
        _ = try await gateway.register(mallory, "00bb22")
        let message = try await gateway.send(#""token":"\#(token)""#)
        let one = "\(Self.path)/\(token.replacing(":", with: "%3A"))"
        let batch = #"{"to":"/topics/spam","registration_tokens":["\#(token)"]}"#
        let receipt = #"{"registration":"\#(token)","message":"\#(message)","kind":"opened"}"#
        let calls: [(HTTPRequest.Method, String, String?)] = [
            (.get, one, nil), (.patch, one, #"{"ios":{"apns_token":"\#("00bb22".deviceToken)"}}"#),
            (.patch, one, #"{"user":""}"#),
            (.delete, one, nil), (.get, "\(one)/\(Self.topics)", nil),
            (.post, "\(one)/\(Self.topics)/spam:subscribe", nil), (.get, "/iid/info/\(token)?details=true", nil),
            (.post, "/iid/v1/\(token)/rel/topics/spam", nil), (.post, "/v1/projects/demo/receipts", receipt),
        ]
        for (method, path, body) in calls {
            let alone = try await gateway.request(method, path, body, as: .client)
            let other = try await gateway.request(method, path, body, of: mallory)
            #expect(alone.status == 403 && other.status == 403, "\(method) \(path): \(alone.text) \(other.text)")
        }
        for call in ["batchAdd", "batchRemove"] {
            let denied = #"{"results":[{"error":"PERMISSION_DENIED"}]}"#
            #expect(try await gateway.request(.post, "/iid/v1:\(call)", batch, as: .client).text == denied)
            #expect(try await gateway.request(.post, "/iid/v1:\(call)", batch, of: mallory).text == denied)
            // Its own installation, and backends.
            #expect(try await gateway.request(.post, "/iid/v1:\(call)", batch, of: victim).text == #"{"results":[{}]}"#)
            #expect(
                try await gateway.request(.post, "/iid/v1:\(call)", batch, as: .sender).text == #"{"results":[{}]}"#)
        }
        #expect(try await gateway.request(.get, "\(one)/\(Self.topics)", as: .sender).text == "{}")
        #expect(try await gateway.request(.get, "/iid/info/\(token)", as: .sender).status == 200)
        #expect(try await gateway.request(.post, "/v1/projects/demo/receipts", receipt, of: victim).status == 200)
        #expect(try await gateway.request(.delete, one, of: victim).status == 200)
    }

    @Test func aRegistrationWithoutAnInstallationIsNoClients() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let mallory = try await gateway.install()
        _ = try await gateway.register(mallory, "00bb22")
        let one = "\(Self.path)/\(token.replacing(":", with: "%3A"))"
        #expect(try await gateway.request(.patch, one, #"{"user":"alice"}"#, as: .sender).status == 200)
        let news = "\(one)/\(Self.topics)/news:subscribe"
        #expect(try await gateway.request(.post, news, as: .sender).status == 200)
        let message = try await gateway.send(#""token":"\#(token)""#)
        let receipt = #"{"registration":"\#(token)","message":"\#(message)","kind":"opened"}"#
        let calls: [(HTTPRequest.Method, String, String?)] = [
            (.get, one, nil), (.patch, one, #"{"ios":{"apns_token":"\#("00cc33".deviceToken)"}}"#),
            (.patch, one, #"{"ios":{}}"#), (.delete, one, nil), (.get, "\(one)/\(Self.topics)", nil),
            (.post, "\(one)/\(Self.topics)/spam:subscribe", nil), (.get, "/iid/info/\(token)?details=true", nil),
            (.post, "/iid/v1/\(token)/rel/topics/spam", nil), (.post, "/v1/projects/demo/receipts", receipt),
        ]
        for (method, path, body) in calls {
            let alone = try await gateway.request(method, path, body, as: .client)
            let other = try await gateway.request(method, path, body, of: mallory)
            #expect(alone.status == 403 && other.status == 403, "\(method) \(path): \(alone.text) \(other.text)")
        }
        let batch = #"{"to":"/topics/spam","registration_tokens":["\#(token)"]}"#
        let denied = #"{"results":[{"error":"PERMISSION_DENIED"}]}"#
        #expect(try await gateway.request(.post, "/iid/v1:batchAdd", batch, of: mallory).text == denied)
        let refused = try await gateway.request(.get, one, as: .client)
        #expect(try refused.preciseReason == "INSTALLATION_REQUIRED")
        #expect(refused.text.contains("registers"), "\(refused.text)")
        // The device's own app adopts it: the topics, not the user.
        let own = try await gateway.install("dInstallationTwo000000")
        #expect(try await gateway.register(own).status == 200)
        #expect(try await gateway.request(.get, "\(Self.path)/\(own.id)/\(Self.topics)/news", of: own).status == 200)
        #expect(try await users("alice", gateway) == 0)
    }

    @Test func withoutInstallationsAnotherDeviceTokenDropsUserAndTopics() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let moved = #"{"ios":{"apns_token":"\#("00cc33".deviceToken)"}}"#
        for user in ["alice", nil] {
            let token = try await gateway.register(user == nil ? "01" : "02").token
            let one = "\(Self.path)/\(token.replacing(":", with: "%3A"))"
            if let user {
                #expect(try await gateway.request(.patch, one, #"{"user":"\#(user)"}"#, as: .sender).status == 200)
            }
            #expect(try await gateway.request(.post, "\(one)/\(Self.topics)/news:subscribe", as: .sender).status == 200)
            // The same device token changes nothing.
            let same = #"{"ios":{"apns_token":"\#((user == nil ? "01" : "02").deviceToken)"}}"#
            #expect(try await gateway.request(.patch, one, same, as: .client).json["token"] == .string(token))
            let answer = try await gateway.request(.patch, one, moved, as: .client)
            #expect(try answer.status == 200 && answer.json["user"] == nil, "\(answer.text)")
            // With a user the registration ends: what is for the user's token goes nowhere.
            #expect(try (answer.token == token) == (user == nil))
            let now = "\(Self.path)/\(try answer.token.replacing(":", with: "%3A"))/\(Self.topics)"
            #expect(try await gateway.request(.get, now, as: .sender).text == "{}")
        }
        #expect(try await users("alice", gateway) == 0)
        // An admin key's change keeps both.
        let token = try await gateway.register("03").token
        let one = "\(Self.path)/\(token.replacing(":", with: "%3A"))"
        _ = try await gateway.request(.patch, one, #"{"user":"bob"}"#, as: .sender)
        let kept = try await gateway.request(.patch, one, #"{"ios":{"apns_token":"\#("04".deviceToken)"}}"#)
        #expect(try kept.token == token && kept.json["user"] == .string("bob"))
    }
}
