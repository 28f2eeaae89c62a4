import AsyncHTTPClient
import Crypto
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import Simulators

/// What the simulated push service takes, and what it says to all else.
@Suite(.timeLimit(.minutes(5)))
struct PushServiceTests {
    private static let now: Int64 = 1_700_000_000
    private static let origin = "https://127.0.0.1:2198"

    private let subscriptions = SubscriptionBook()
    private let rules = PushServiceRules()
    private let recording = ArrivalLog<RecordedWebPush>(limit: 10)
    private let key = P256.Signing.PrivateKey()
    private let subscription: PushSubscription
    private let judge: PushServiceJudge

    init() {
        subscriptions.listens(at: Self.origin)
        subscription = subscriptions.subscribe(applicationKey: Array(key.publicKey.x963Representation))
        judge = PushServiceJudge(
            subscriptions: subscriptions, rules: rules, recording: recording,
            wallTimeMilliseconds: { Self.now * 1000 })
    }

    // MARK: A sender after the RFCs

    private static func object(_ members: [String: Any]) throws -> String {
        base64URL(try JSONSerialization.data(withJSONObject: members, options: .withoutEscapingSlashes))
    }

    private func authorization(
        _ change: [String: Any] = [:], header: [String: Any] = ["typ": "JWT", "alg": "ES256"],
        signedBy signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let claims: [String: Any] = [
            "aud": Self.origin, "exp": Self.now + 43_200, "sub": "mailto:push@example.com",
        ].merging(change) { $1 }
        let text = "\(try Self.object(header)).\(try Self.object(claims.filter { !($1 is NSNull) }))"
        let signature = try (signer ?? key).signature(for: Data(text.utf8)).rawRepresentation
        return "vapid t=\(text).\(base64URL(signature)), k=\(base64URL(key.publicKey.x963Representation))"
    }

    private func encrypted(_ text: String, delimiter: UInt8 = 2, for other: PushSubscription? = nil) throws -> [UInt8] {
        let browser = other ?? subscription
        let sender = P256.KeyAgreement.PrivateKey()
        let point = Array(sender.publicKey.x963Representation)
        let salt = [UInt8](repeating: 9, count: 16)
        func code(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
        }
        let shared = try sender.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: browser.publicKey))
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: browser.secret,
            sharedInfo: Array("WebPush: info".utf8) + [0] + browser.publicKey + point, outputByteCount: 32)
        let key = Array(HKDF<SHA256>.extract(inputKeyMaterial: input, salt: salt))
        let box = try AES.GCM.seal(
            Array(text.utf8) + [delimiter, 0, 0],
            using: SymmetricKey(data: code(key, Array("Content-Encoding: aes128gcm".utf8) + [0, 1]).prefix(16)),
            nonce: AES.GCM.Nonce(data: code(key, Array("Content-Encoding: nonce".utf8) + [0, 1]).prefix(12)))
        return salt + [0, 0, 0x10, 0, 65] + point + box.ciphertext + box.tag
    }

    private func request(_ change: [String: String?] = [:], body: [UInt8]? = nil, path: String? = nil) throws
        -> WebPushRequest
    {
        let fields: [String: String?] = [
            "ttl": "60", "content-encoding": "aes128gcm", "authorization": try authorization(),
        ]
        var headers: HTTPHeaders = [:]
        for (name, value) in fields.merging(change, uniquingKeysWith: { $1 }) {
            if let value { headers.add(name: name, value: value) }
        }
        return WebPushRequest(
            head: HTTPRequestHead(
                version: .http2, method: .POST, uri: path ?? "/push/\(subscription.id)", headers: headers),
            body: try body ?? encrypted("Hello"))
    }

    // MARK: Claims

    @Test func aPushAfterTheRFCsIsReadAsTheBrowserWould() throws {
        let answer = judge.answer(
            to: try request(["topic": "abc", "urgency": "high", "ttl": "9999999"]))
        #expect(answer.status == 201 && answer.headers.first(name: "location")?.hasPrefix(Self.origin) == true)
        #expect(answer.headers.first(name: "ttl") == "2592000")
        let push = try #require(recording.pushes.first)
        #expect(push.plaintext == "Hello" && push.subscription == subscription.id && push.problem == nil)
        #expect(push.senderKey == base64URL(key.publicKey.x963Representation))
        #expect(push.headers["authorization"] == nil)
        // A push without a body is none with one.
        #expect(judge.answer(to: try request(["content-encoding": nil], body: [])).status == 201)
    }

    /// pywebpush writes none.
    @Test(arguments: [",", " ,\t"]) func blanksAroundTheCommaAreAsTheSenderLikes(comma: String) throws {
        let authorization = try authorization().replacing(", k=", with: "\(comma)k=")
        #expect(judge.answer(to: try request(["authorization": authorization])).status == 201)
    }

    static let wrong: [(fields: [String: String?], status: Int, errno: Int)] = [
        (["ttl": nil], 400, 111), (["ttl": "a"], 400, 112), (["ttl": "-1"], 400, 112), (["ttl": ""], 400, 112),
        (["urgency": "urgent"], 400, 110), (["topic": ""], 400, 113), (["topic": "a b"], 400, 113),
        (["topic": String(repeating: "a", count: 33)], 400, 113), (["content-encoding": "aesgcm"], 400, 110),
        (["content-encoding": nil], 400, 110), (["content-length": "7"], 400, 110), (["authorization": nil], 401, 109),
        (["authorization": "WebPush a.b.c"], 401, 109), (["authorization": "vapid t=a.b.c, k=AAAA"], 401, 109),
    ]

    @Test(arguments: wrong.indices) func aWrongFieldHasItsAnswer(index: Int) throws {
        let (fields, status, errno) = Self.wrong[index]
        let answer = judge.answer(to: try request(fields))
        #expect(answer.status == status && answer.body.contains("\"errno\":\(errno)"), "\(fields) \(answer)")
        #expect(recording.pushes.first?.status == status && recording.pushes.first?.problem != nil)
    }

    @Test func aTokenThatBrowsersServicesRefuseIsRefused() throws {
        let other = P256.Signing.PrivateKey()
        for authorization in [
            try authorization(["aud": "https://127.0.0.1:2199"]), try authorization(["aud": Self.origin + "/"]),
            try authorization(["exp": Self.now]), try authorization(["exp": Self.now + 86_401]),
            try authorization(["exp": "\(Self.now + 60)"]), try authorization(["exp": NSNull()]),
            try authorization(["sub": NSNull()]), try authorization(["sub": "mailto: push@example.com"]),
            try authorization(["sub": "mailto:push@localhost"]), try authorization(signedBy: other),
            try authorization(header: ["typ": "JWT", "alg": "none"]),
        ] {
            #expect(judge.answer(to: try request(["authorization": authorization])).status == 401, "\(authorization)")
        }
        let stranger = subscriptions.subscribe(applicationKey: Array(other.publicKey.x963Representation))
        let answer = judge.answer(
            to: try request(body: encrypted("Hello", for: stranger), path: "/push/\(stranger.id)"))
        #expect(answer.status == 401 && answer.body.contains("VAPID public key mismatch"))
    }

    @Test func aBodyThatTheBrowserCannotReadIsRefused() throws {
        let other = subscriptions.subscribe()
        var spoiled = try encrypted("Hello")
        spoiled[100] ^= 1
        for body in [
            try encrypted("Hello", for: other), spoiled, try encrypted("Hello", delimiter: 1), [1, 2, 3],
            Array(try encrypted("Hello").dropLast()), [UInt8](repeating: 0, count: 200),
        ] {
            #expect(judge.answer(to: try request(body: body)).status == 400)
        }
        #expect(judge.answer(to: try request(body: [UInt8](repeating: 0, count: 4097))).status == 413)
    }

    @Test func aSubscriptionEndsAndOneThatNeverWasIsUnknown() throws {
        #expect(judge.answer(to: try request(path: "/push/nothing")).status == 404)
        #expect(judge.answer(to: try request(path: "/")).status == 404)
        #expect(subscriptions.end(subscription.id) && !subscriptions.end(subscription.id))
        let gone = judge.answer(to: try request())
        #expect(gone.status == 410 && gone.headers.first(name: "cache-control") == "max-age=86400")
    }

    @Test func rulesHoldForWhatPassesTheChecks() throws {
        rules.setDefault(PushServiceRule(status: 429, body: "slow", retryAfterSeconds: 5, times: 1))
        #expect(judge.answer(to: try request(["ttl": nil])).status == 400)
        let slow = judge.answer(to: try request())
        #expect(slow.status == 429 && slow.body == "slow" && slow.headers.first(name: "retry-after") == "5")
        #expect(judge.answer(to: try request()).status == 201)
        rules.set(PushServiceRule(neverAnswer: true), for: subscription.id)
        #expect(judge.answer(to: try request()).status == 0)
        #expect(recording.pushes.map(\.status) == [400, 429, 201, 0])
    }

    @Test func theControlEndpointPlaysTheBrowser() throws {
        let control = PushServiceControl(
            subscriptions: subscriptions, rules: rules,
            scenarios: ScenarioBook(wallTimeMilliseconds: { Self.now * 1000 }), recording: recording)
        func reply(_ method: HTTPMethod, _ path: String, _ body: String = "") -> ControlReply {
            control.reply(
                to: HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: ["host": "127.0.0.1"]),
                body: Data(body.utf8))
        }
        let made = reply(.POST, "/subscriptions", #"{"applicationServerKey":"\#(base64URL(subscription.publicKey))"}"#)
        let json = try #require(try JSONSerialization.jsonObject(with: made.body) as? [String: Any])
        let endpoint = try #require(json["endpoint"] as? String)
        #expect(endpoint.hasPrefix(Self.origin + "/push/") && (json["keys"] as? [String: String])?.count == 2)
        let id = try #require(endpoint.split(separator: "/").last.map(String.init))
        #expect(reply(.POST, "/subscriptions", "{}").status == .badRequest)
        #expect(reply(.PUT, "/rules/\(id)", #"{"status":410}"#).status == .noContent)
        #expect(reply(.PUT, "/rules/default", #"{"state":410}"#).status == .badRequest)
        #expect(reply(.PUT, "/rules/default", #"{"status":99}"#).status == .badRequest)
        #expect(reply(.DELETE, "/subscriptions/\(id)").status == .noContent)
        #expect(reply(.DELETE, "/subscriptions/\(id)").status == .notFound)
        _ = judge.answer(to: try request())
        #expect(String(decoding: reply(.GET, "/pushes").body, as: UTF8.self).contains("\"plaintext\":\"Hello\""))
        #expect(reply(.GET, "/pushes?after=x").status == .badRequest)
        #expect(reply(.DELETE, "/pushes").status == .noContent && recording.pushes.isEmpty)
        #expect(reply(.GET, "/elsewhere").status == .notFound)
        let foreign = control.reply(
            to: HTTPRequestHead(version: .http1_1, method: .GET, uri: "/pushes", headers: ["host": "evil.example"]),
            body: Data())
        #expect(foreign.status == .forbidden)
    }

    // MARK: Whose service it is (webpush.md §6)

    /// An answer of another service; `nil`: a field that is missing.
    private func answer(
        of dialect: PushServiceDialect, _ fields: [String: String?] = [:], to browser: PushSubscription? = nil,
        body: [UInt8]? = nil
    ) throws -> WebPushAnswer {
        var judge = judge
        judge.dialect = dialect
        let browser = browser ?? subscription
        return judge.answer(
            to: try request(
                fields, body: try body ?? encrypted("Hello", for: browser), path: dialect.path(of: browser.id)))
    }

    @Test func eachServiceTakesWhatItsOwnAllow() throws {
        for dialect in PushServiceDialect.allCases { #expect(try answer(of: dialect).status == 201, "\(dialect)") }
        #expect(try answer(of: .google, ["ttl": "9999999"]).headers.first(name: "ttl") == "2419200")
        #expect(try answer(of: .apple).headers.first(name: "apns-id") != nil)
        #expect(try answer(of: .windows).headers.first(name: "x-wns-status") == "received")
        // Apple reads a topic as base64url.
        for (length, status) in [(32, 201), (4, 201), (31, 400), (33, 400), (1, 400), (5, 400)] {
            let topic = String(repeating: "a", count: length)
            #expect(try answer(of: .apple, ["topic": topic]).status == status, "\(length)")
        }
        #expect(try answer(of: .mozilla, ["topic": "a"]).status == 201)
        // Windows' service keeps everything for a while.
        #expect(try answer(of: .windows, ["ttl": "0"]).status == 400)
        #expect(try answer(of: .apple, ["ttl": "0"]).status == 201)
        // Firefox on Android gets its pushes as base64, by another service.
        let bridged = subscriptions.subscribe(isBridged: true)
        let large = try encrypted(String(repeating: "x", count: 2700), for: bridged)
        #expect(try answer(of: .mozilla, to: bridged, body: large).status == 413)
        #expect(try answer(of: .mozilla, to: bridged).status == 201)
        #expect(try answer(of: .google, to: bridged, body: large).status == 201)
    }

    static let refusals: [(dialect: PushServiceDialect, fields: [String: String?], status: Int, text: String)] = [
        (.mozilla, ["ttl": nil], 400, "\"errno\":111"), (.apple, ["ttl": nil], 400, "BadTtl"),
        (.apple, ["topic": "a"], 400, "BadWebPushTopic"), (.apple, ["urgency": "urgent"], 400, "BadUrgency"),
        (.apple, ["authorization": "WebPush a.b.c"], 403, "BadJwtToken"),
        (.google, ["authorization": "WebPush a.b.c"], 403, "the scheme must be vapid"),
        (.google, ["ttl": "x"], 400, "TTL must be"), (.windows, ["authorization": nil], 401, ""),
    ]

    @Test(arguments: refusals.indices) func eachServiceSaysNoInItsOwnWords(index: Int) throws {
        let (dialect, fields, status, text) = Self.refusals[index]
        let answer = try answer(of: dialect, fields)
        #expect(answer.status == status && (text.isEmpty ? answer.body.isEmpty : answer.body.contains(text)))
        #expect(dialect != .windows || answer.headers.first(name: "x-wns-status") == "dropped")
    }

    @Test(
        arguments: [
            (.mozilla, 401, "VAPID public key mismatch"), (.google, 403, "do not correspond"),
            (.apple, 403, "VapidPkHashMismatch"), (.windows, 403, ""),
        ] as [(PushServiceDialect, Int, String)])
    func anotherKeyIsNamed(dialect: PushServiceDialect, status: Int, text: String) throws {
        let stranger = subscriptions.subscribe(
            applicationKey: Array(P256.Signing.PrivateKey().publicKey.x963Representation))
        let answer = try answer(of: dialect, to: stranger)
        #expect(answer.status == status && (text.isEmpty || answer.body.contains(text)))
    }

    @Test(
        arguments: [
            (.mozilla, 429, "subscription"), (.google, 429, "subscription"), (.apple, 429, "TooManyRequests"),
            (.windows, 406, "channelthrottled"),
        ] as [(PushServiceDialect, Int, String)])
    func quotasHoldForAMinute(dialect: PushServiceDialect, status: Int, text: String) throws {
        let other = subscriptions.subscribe()
        var judge = judge
        judge.dialect = dialect
        judge.quota = MinuteQuota(perMinute: 4, perTarget: 2)
        func answer(_ browser: PushSubscription) throws -> WebPushAnswer {
            judge.answer(
                to: try request(body: try encrypted("Hello", for: browser), path: dialect.path(of: browser.id)))
        }
        for _ in 0..<2 { #expect(try answer(subscription).status == 201) }
        let busy = try answer(subscription)
        #expect(busy.status == status)
        #expect(busy.body.contains(text) || busy.headers.first(name: "x-wns-status") == text)
        #expect(try answer(other).status == 201)
        // Four of the sender are over, the refused one among them.
        let all = try answer(other)
        #expect(all.status == status && all.headers.first(name: "x-wns-status") ?? "appthrottled" == "appthrottled")
    }

    // MARK: Scenarios

    @Test func aScenarioAnswersInTheServicesWordsAndIsRecorded() throws {
        for (played, status, text) in [(410, 410, "106"), (429, 429, "subscription"), (503, 503, "201")] {
            let answer = judge.answer(to: try request()) { _, _ in
                ScenarioStage.Verdict(answer: ScenarioAnswer(played, "", retryAfterSeconds: 7), delayMilliseconds: 5)
            }
            #expect(answer.status == status && answer.body.contains(text) && answer.delayMilliseconds == 5)
            #expect(answer.headers.first(name: "retry-after") == "7")
        }
        #expect(recording.pushes.map(\.status) == [410, 429, 503])
        // Nothing takes the place of a refusal.
        let refused = judge.answer(to: try request(["ttl": nil])) { _, _ in
            ScenarioStage.Verdict(answer: ScenarioAnswer(503, ""))
        }
        #expect(refused.status == 400)
    }

    @Test func scenariosOfAPNsAloneAreRefused() throws {
        let control = PushServiceControl(
            subscriptions: subscriptions, rules: rules,
            scenarios: ScenarioBook(wallTimeMilliseconds: { Self.now * 1000 }), recording: recording)
        func reply(_ method: HTTPMethod, _ body: String = "") -> ControlReply {
            control.reply(
                to: HTTPRequestHead(
                    version: .http1_1, method: method, uri: "/scenarios", headers: ["host": "127.0.0.1"]),
                body: Data(body.utf8))
        }
        #expect(reply(.PUT, #"{"scenarios":[{"name":"slow"}]}"#).status == .noContent)
        #expect(String(decoding: reply(.GET).body, as: UTF8.self).contains("\"slow\""))
        let refused = reply(.PUT, #"{"scenarios":[{"name":"token-updates"}]}"#)
        #expect(refused.status == .badRequest)
        #expect(String(decoding: refused.body, as: UTF8.self).contains("token-updates is a scenario of APNs alone"))
        #expect(reply(.DELETE).status == .noContent)
        #expect(reply(.POST).status == .methodNotAllowed)
    }

    /// Over the wire: TLS, HTTP/2, a client that shares nothing with Herald's.
    @Test func itPlaysScenariosAndRecordsToAFile() async throws {
        let directory = try TestDirectory()
        var configuration = SimulatedPushService.Configuration(
            identity: try PushServiceIdentity(directory: directory.path), wallTimeMilliseconds: { Self.now * 1000 })
        configuration.port = 0
        configuration.recordingFile = directory.file("pushes.ndjson")
        configuration.scenarios = ScenarioSet([try Scenario(text: "too-many-requests,share=1,retryAfterSeconds=3")])
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let service = SimulatedPushService(configuration, logger: Logger(label: "push-service")) { port, _ in
            announce.yield(port)
        }
        let running = Task {
            defer { announce.finish() }
            try await service.run()
        }
        let port = try #require(await ports.first { _ in true })
        let client = try SimulatorHarness.makeClient(
            trusting: PushServiceIdentity(directory: directory.path).caFile, http1Only: false)
        let authorization = try authorization(["aud": "https://127.0.0.1:\(port)"])
        func send() async throws -> (status: Int, retryAfter: String?) {
            // Without a body: what is about connections needs no encryption.
            var request = HTTPClientRequest(url: service.subscriptions.subscribe().endpoint)
            request.method = .POST
            request.headers.add(name: "ttl", value: "60")
            request.headers.add(name: "authorization", value: authorization)
            let response = try await client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
            return (Int(response.status.code), response.headers.first(name: "retry-after"))
        }
        let result: Result<Void, any Error>
        do {
            let slowed = try await send()
            #expect(slowed.status == 429 && slowed.retryAfter == "3")
            service.scenarios.set(ScenarioSet([try Scenario(text: "drop,after=2,spread=0")]))
            #expect(try await send().status == 201)
            await #expect(throws: (any Error).self) { try await send() }
            service.scenarios.set(ScenarioSet())
            #expect(try await SimulatorHarness.onceConnected { try await send().status } == 201)
            service.scenarios.set(ScenarioSet([try Scenario(text: "reset,share=1,errorCode=2")]))
            await #expect(throws: (any Error).self) { try await send() }
            service.scenarios.set(ScenarioSet())
            #expect(try await send().status == 201)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try await client.shutdown()
        running.cancel()
        try await running.value
        try result.get()
        let lines = try String(contentsOfFile: directory.file("pushes.ndjson"), encoding: .utf8).split(separator: "\n")
        let statuses = try lines.map { try JSONDecoder().decode(RecordedWebPush.self, from: Data($0.utf8)).status }
        #expect(statuses == [429, 201, 0, 201, 0, 201])
    }
}
