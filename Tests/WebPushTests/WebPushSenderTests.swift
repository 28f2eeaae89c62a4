import Crypto
import FCMWire
import Foundation
import JSON
import Logging
import PushModel
import Signing
import Synchronization
import TestSupport
import Testing

@testable import HTTP2Client
@testable import Upstream
@testable import WebPush

/// Where pushes to browsers go, over a transport in memory.
@Suite(.timeLimit(.minutes(5)))
struct WebPushSenderTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private static let project = ProjectID(rawValue: "demo")!
    private static let app = AppID(rawValue: "www.example.com")!

    private let key: ES256PrivateKey
    private let former: ES256PrivateKey
    private let transport = AnsweringTransport()
    private let clock = TestClock()
    private let sender: WebPushSender

    init() throws {
        key = try ES256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation)
        former = try ES256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation)
        let clock = clock
        sender = WebPushSender(
            transport: transport, originLimit: 2, connectionLimit: 1, wallTime: { Self.now + clock.now.offset },
            uptime: { clock.now.offset }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        sender.use([
            WebPushAppConfiguration(
                project: Self.project, app: Self.app, subject: "mailto:push@example.com", keys: [key, former],
                services: [try #require(PushServiceName("push.example.com:8443"))])
        ])
    }

    private func push(
        _ endpoint: String, key: ES256PrivateKey? = nil, browser: [UInt8]? = nil, payload: [UInt8]? = nil,
        lane: Lane = .interactive, json: String = #"{"notification":{"title":"Hello"}}"#
    ) throws -> Push {
        let content = try BrowserPush(
            FCMMessage(source: JSONValue(parsing: Array(json.utf8))),
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: nil, app: App(web: Self.app),
                expiresAt: Self.now + .seconds(3600), acceptedAt: Self.now))
        let subscription = try #require(
            WebSubscription(
                endpoint: endpoint, key: browser ?? Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation),
                secret: [UInt8](repeating: 7, count: 16), applicationKey: key?.publicPoint))
        return Push(
            route: PushRoute(project: Self.project, app: Self.app, channel: .webPush), lane: lane,
            address: .web(subscription), content: content, payload: payload ?? content.payload,
            id: PushID(message: MessageID(rawValue: "m-1")!, registration: RegistrationKey(rawValue: 1)))
    }

    private func reports(_ batch: [Push]) async -> [PushReport] {
        let reports = Mutex<[Int: PushReport]>([:])
        await sender.send(batch) { pieces in
            reports.withLock { reports in
                for piece in pieces { #expect(reports.updateValue(piece, forKey: piece.index) == nil) }
            }
        }
        let all = reports.withLock { $0 }
        return batch.indices.compactMap { all[$0] }
    }

    private func outcomes(_ batch: [Push]) async -> [Outcome] { await reports(batch).map(\.outcome) }

    @Test func eachOriginAndKeyHasConnectionsOfItsOwn() async throws {
        let batch = [
            try push("https://fcm.googleapis.com/fcm/send/a", key: key),
            try push("https://updates.push.services.mozilla.com/wpush/v2/b"),
            try push("https://fcm.googleapis.com/fcm/send/c", key: key),
        ]
        #expect(await outcomes(batch) == [.accepted, .accepted, .accepted])
        let pools = transport.pools
        #expect(Set(pools.map(\.configuration.host)) == ["fcm.googleapis.com", "updates.push.services.mozilla.com"])
        let google = try #require(pools.first { $0.configuration.host == "fcm.googleapis.com" })
        #expect(google.paths.sorted() == ["/fcm/send/a", "/fcm/send/c"])
        let token = try #require(google.authorization)
        #expect(token.hasPrefix("vapid t=") && token.hasSuffix("k=" + Base64URL.text(key.publicPoint)))
        let claims = try #require(token.split(separator: ".").dropFirst().first.flatMap { Base64URL.bytes($0) })
        #expect(try JSONValue(parsing: claims)["aud"]?.stringValue == "https://fcm.googleapis.com")
    }

    @Test func noPushGoesTheWayOfAnotherServiceOrKey() async throws {
        let google = "https://fcm.googleapis.com/fcm/send/a"
        let refused = Outcome.rejected(Refusal(.serviceNotAllowed, .push(.address)))
        let batch = [
            try push(google, key: key), try push("https://fcm.googleapis.com.evil.example/a", key: key),
            try push(google, key: key), try push("https://fcm.googleapis.com:8443/a", key: key),
            try push(google, key: former), try push("https://fcm.googleapis.com?a", key: former),
        ]
        #expect(
            await outcomes(batch) == [.accepted, refused, .accepted, refused, .accepted, .accepted])
        #expect(
            Set(transport.pools.map { $0.paths.sorted() })
                == [["/fcm/send/a", "/fcm/send/a"], ["/?a", "/fcm/send/a"]])
    }

    @Test func aSubscriptionStaysWithItsKey() async throws {
        let endpoint = "https://push.example.com:8443/x"
        #expect(
            await outcomes([try push(endpoint, key: former), try push(endpoint, key: key)]) == [.accepted, .accepted])
        #expect(
            Set(
                transport.pools.compactMap(\.authorization).compactMap {
                    $0.split(separator: "=").last.map(String.init)
                })
                == [Base64URL.text(key.publicPoint), Base64URL.text(former.publicPoint)])
        let unknown = try ES256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation)
        #expect(
            await outcomes([try push(endpoint, key: unknown)])
                == [.rejected(Refusal(.keyUnknown, .addressDoubtful))])
    }

    @Test(arguments: [
        "https://127.0.0.1/x", "https://push.example.com/x", "https://push.example.com:8444/x",
        "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com.evil.example/x",
        "https://evilpush.apple.com/x", "https://metadata.google.internal/x", "https://[::1]/x",
        "https://[::ffff:127.0.0.1]:8443/x", "https://[fd00::1]/x", "https://fcm.googleapis.com./x",
        "https://push.example.com.:8443/x", "https://2130706433/x", "https://0x7f000001/x", "https://0177.0.0.1/x",
        "https://xn--push-example.com:8443/x",
    ])
    func nothingGoesToAnyOtherHost(endpoint: String) async throws {
        #expect(await outcomes([try push(endpoint)]) == [.rejected(Refusal(.serviceNotAllowed, .push(.address)))])
        #expect(transport.pools.isEmpty)
    }

    // MARK: What the services answer (webpush.md §5)

    private static let google = "https://fcm.googleapis.com/"

    /// The fault of other senders: one wrong key, and all browsers of the app are gone.
    @Test func aKeyThatNoSubscriptionTakesParksAndEndsNothing() async throws {
        transport.set(403, #"{"reason":"VapidPkHashMismatch"}"#, for: "/a")
        let parked = Outcome.throttled(Refusal(.keyMismatch, .credential), after: nil)
        #expect(await outcomes([try push(Self.google + "a")]) == [parked])
        let held = try #require(await reports([try push(Self.google + "b")]).first)
        #expect(!held.isAttempt && held.outcome == .throttled(Refusal(.keyMismatch, .credential), after: .seconds(30)))
        #expect(sender.upstreams.first?.pauses.map(\.reason) == [.keyMismatch])
        #expect(await outcomes([try push("https://web.push.apple.com/c")]) == [.accepted])
        // One at a time is tried, and the first that is accepted ends it.
        clock.advance(by: .seconds(30))
        #expect(await outcomes([try push(Self.google + "b")]) == [.accepted])
        // Another of the key is accepted there: now it is the subscription.
        #expect(
            await outcomes([try push(Self.google + "a")]) == [.rejected(Refusal(.keyMismatch, .addressDoubtful))])
        #expect(await outcomes([try push(Self.google + "b")]) == [.accepted])
    }

    @Test(arguments: [(401, Reason.unauthorized), (403, .forbidden)])
    func aTokenThatIsNotTakenParksItsOriginAlone(status: Int, reason: Reason) async throws {
        transport.set(status, "", for: "/a")
        let refusal = Refusal(reason, .credential)
        #expect(await outcomes([try push(Self.google + "a")]) == [.throttled(refusal, after: nil)])
        #expect(await reports([try push(Self.google + "b")]).map(\.isAttempt) == [false])
        #expect(await outcomes([try push("https://web.push.apple.com/c")]) == [.accepted])
        clock.advance(by: .seconds(30))
        #expect(await outcomes([try push(Self.google + "a")]) == [.throttled(refusal, after: nil)])
        clock.advance(by: .seconds(60))
        #expect(await outcomes([try push(Self.google + "b")]) == [.accepted])
        #expect(sender.upstreams.allSatisfy { $0.pauses.isEmpty })
    }

    private static let slowed = Refusal(.tooManyRequests, .load(.sender), firstWait: .seconds(60))
    private static let busy = Refusal(.tooManyRequests, .load(.address), firstWait: .seconds(60))

    /// One subscription that is slowed down waits alone, whatever the service asks for; two within a minute are the sender.
    @Test(arguments: [nil, 7, 86_400])
    func oneSubscriptionThatIsSlowedDownHoldsNoOtherBack(seconds: Int?) async throws {
        let fields = seconds.map { [HeaderField("retry-after", String($0))] } ?? []
        transport.set(429, "", for: "/a", fields: fields)
        let push = try push(Self.google + "a")
        let after: Duration? = seconds.map { .seconds(min($0, 3600)) }
        #expect(await outcomes([push]) == [.throttled(Self.busy, after: after)])
        #expect(await outcomes([try self.push(Self.google + "b")]) == [.accepted])
        let rest = after ?? .seconds(60)
        clock.advance(by: rest - .seconds(1))
        #expect(await reports([push]).map(\.isAttempt) == [false])
        clock.advance(by: .seconds(1))
        #expect(await outcomes([push]) == [.throttled(Self.busy, after: after)])
        #expect(await outcomes([try self.push(Self.google + "b")]) == [.accepted])
    }

    @Test func noRestOfAWholeServiceIsLongerThanAQuarterOfAnHour() async throws {
        for path in ["a", "c"] {
            transport.set(429, "", for: "/" + path, fields: [HeaderField("retry-after", "86400")])
            _ = await outcomes([try push(Self.google + path)])
        }
        guard case .throttled(_, let after?) = await outcomes([try push(Self.google + "b")]).first else {
            Issue.record("not held")
            return
        }
        #expect(after == .seconds(900))
        clock.advance(by: .seconds(900))
        #expect(await outcomes([try push(Self.google + "b")]) == [.accepted])
    }

    @Test(arguments: [406, 429])
    func aServiceThatSlowsTheSenderDownIsLeftAlone(status: Int) async throws {
        for (round, minutes) in [1, 2, 4].enumerated() {
            for (path, refusal) in [("/one-\(round)", Self.busy), ("/other-\(round)", Self.slowed)] {
                transport.set(status, "", for: path)
                #expect(await outcomes([try push(Self.google + path.dropFirst())]) == [.throttled(refusal, after: nil)])
            }
            guard case .throttled(_, let after?) = await outcomes([try push(Self.google + "b")]).first else {
                Issue.record("not held")
                return
            }
            #expect(after == .seconds(60 * minutes))
            #expect(await outcomes([try push("https://web.push.apple.com/c")]) == [.accepted])
            clock.advance(by: .seconds(60 * minutes))
        }
        #expect(await outcomes([try push(Self.google + "b")]) == [.accepted])
    }

    @Test func aRestThatTheServiceAsksForIsKept() async throws {
        for (path, refusal) in [("/a", Self.busy), ("/c", Self.slowed)] {
            transport.set(429, "", for: path, fields: [HeaderField("retry-after", "7")])
            #expect(
                await outcomes([try push(Self.google + path.dropFirst())])
                    == [.throttled(refusal, after: .seconds(7))])
        }
        #expect(await reports([try push(Self.google + "b")]).map(\.isAttempt) == [false])
        clock.advance(by: .seconds(7))
        #expect(await outcomes([try push(Self.google + "b")]) == [.accepted])
    }

    @Test func aSubscriptionThatGetsTooMuchWaitsAlone() async throws {
        transport.set(429, "Too many messages for this subscription", for: "/a")
        let busy = try push(Self.google + "a")
        #expect(
            await outcomes([busy])
                == [.throttled(Self.busy, after: nil)])
        #expect(await reports([try push(Self.google + "b")]).map(\.outcome) == [.accepted])
        clock.advance(by: .seconds(59))
        #expect(await reports([busy]).map(\.isAttempt) == [false])
        clock.advance(by: .seconds(1))
        #expect(await reports([busy]).map(\.isAttempt) == [true])
    }

    @Test(arguments: [
        (500, Refusal(.serviceFailed, .load(.failure))), (502, Refusal(.serviceUnavailable, .load(.service))),
        (503, Refusal(.serviceUnavailable, .load(.service))), (504, Refusal(.serviceUnavailable, .load(.service))),
    ])
    func aServiceThatFailsIsTriedAgain(status: Int, refusal: Refusal) async throws {
        transport.set(status, "", for: "/a")
        #expect(await outcomes([try push(Self.google + "a")]) == [.throttled(refusal, after: nil)])
        transport.set(201, "", for: "/a")
        #expect(await outcomes([try push(Self.google + "a")]) == [.accepted])
    }

    /// Where the message is at the service, and for how long it keeps it.
    @Test(
        arguments: [
            (
                [HeaderField("location", "https://fcm.googleapis.com/m/1"), HeaderField("ttl", "60")],
                "https://fcm.googleapis.com/m/1 60"
            ),
            ([HeaderField("ttl", "0")], " 0"), ([HeaderField("ttl", "soon"), HeaderField("location", "/m/a b")], nil),
            ([], nil),
        ] as [([HeaderField], String?)])
    func whatTheServiceSaysOfAnAcceptedPushIsReported(fields: [HeaderField], said: String?) async throws {
        transport.set(201, "", for: "/a", fields: fields)
        let report = try #require(await reports([try push(Self.google + "a")]).first)
        #expect(report.outcome == .accepted && report.upstreamID == said)
        #expect(transport.pools.allSatisfy { $0.configuration.responseFields == ["retry-after", "location", "ttl"] })
    }

    @Test func noRedirectIsFollowed() async throws {
        transport.set(301, "", for: "/a", fields: [HeaderField("location", "https://web.push.apple.com/b")])
        #expect(await outcomes([try push(Self.google + "a")]) == [.rejected(Refusal(.moved, .push(.address)))])
        #expect(transport.pools.flatMap(\.paths) == ["/a"])
    }

    @Test func whatIsLostAfterSendingIsUnknown() async throws {
        transport.set(.unanswered(TransportFailure(.connectionLost, "gone")), for: "/a")
        #expect(await outcomes([try push(Self.google + "a")]) == [.unknown(.connectionLost)])
    }

    @Test func aSizeThatAServiceRefusesIsRemembered() async throws {
        let large = [UInt8](repeating: 65, count: 3000)
        let tooLarge = Outcome.rejected(Refusal(.payloadTooLarge, .push(.payloadSize)))
        transport.set(413, "", for: "/a")
        #expect(await outcomes([try push(Self.google + "a", payload: large)]) == [tooLarge])
        let next = await reports([
            try push(Self.google + "b", payload: large + [65]), try push(Self.google + "c", payload: large.dropLast()),
            try push("https://web.push.apple.com/d", payload: large),
        ])
        #expect(
            next.map(\.outcome) == [tooLarge, .accepted, .accepted] && next.map(\.isAttempt) == [false, true, true])
        clock.advance(by: .seconds(600))
        #expect(await outcomes([try push(Self.google + "b", payload: large)]) == [.accepted])
    }

    /// A retry after it would go out with `TTL: 0`.
    @Test func whatIsOverForItsSenderIsNotSent() async throws {
        let limited = try push(
            Self.google + "a", json: #"{"notification":{"title":"Hi"},"webpush":{"headers":{"TTL":"60"}}}"#)
        let once = try push(
            Self.google + "b", json: #"{"notification":{"title":"Hi"},"webpush":{"headers":{"TTL":"0"}}}"#)
        clock.advance(by: .seconds(59))
        #expect(await outcomes([limited, once]) == [.accepted, .accepted])
        clock.advance(by: .seconds(1))
        let answers = await reports([limited, once])
        #expect(
            answers.map(\.outcome) == [.rejected(Refusal(.timeToLiveOver, .push(.timeToLive))), .accepted]
                && answers.map(\.isAttempt) == [false, true])
    }

    /// A name may lead anywhere: what the project does not name itself is dialed on the Internet only.
    @Test func onlyAServiceThatTheProjectNamesMayHaveAPrivateAddress() async throws {
        let batch = [try push("https://fcm.googleapis.com/x"), try push("https://push.example.com:8443/x")]
        #expect(await outcomes(batch) == [.accepted, .accepted])
        let policies = Dictionary(
            transport.pools.map { ($0.configuration.host, $0.configuration.addresses) }, uniquingKeysWith: { $1 })
        #expect(policies == ["fcm.googleapis.com": .publicOnly, "push.example.com": .any])
    }

    /// An empty body would be a push that shows nothing: what can't be encrypted ends here.
    @Test func whatCannotBeEncryptedIsRefusedAndNothingOfItSent() async throws {
        let place = "https://fcm.googleapis.com/"
        let noPoint: [UInt8] = [4] + [UInt8](repeating: 1, count: 64)
        let long = [UInt8](repeating: 65, count: BrowserPush.payloadLimitBytes + 1)
        let batch = [
            try push(place + "a", browser: noPoint), try push(place + "b"), try push(place + "c", payload: long),
        ]
        let refused = [
            Outcome.rejected(Refusal(.notEncrypted, .push(.address))),
            Outcome.rejected(Refusal(.payloadTooLarge, .push(.payloadSize))),
        ]
        #expect(await outcomes(batch) == [refused[0], .accepted, refused[1]])
        #expect(await outcomes([batch[0]]) == [refused[0]])
        #expect(transport.pools.flatMap(\.paths) == ["/b"])
        // Nothing is left in hand by it.
        clock.advance(by: .seconds(600))
        sender.closeIdle()
        #expect(sender.upstreams.isEmpty)
    }

    /// Of a thousand origins each would have four.
    @Test func manyOriginsHaveOneConnectionEach() async throws {
        let sender = WebPushSender(
            transport: transport, originLimit: 3, wideLimit: 1, connectionLimit: 4, wallTime: { Self.now },
            uptime: { .zero }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        sender.use([
            WebPushAppConfiguration(
                project: Self.project, app: Self.app, subject: "mailto:push@example.com", keys: [key])
        ])
        for host in ["a", "b", "c"] { await sender.send([try push("https://\(host).push.apple.com/x")]) { _ in } }
        let limits = Dictionary(grouping: transport.pools, by: \.configuration.host).mapValues { pools in
            pools.map(\.configuration.connectionLimit)
        }
        #expect(
            limits == ["a.push.apple.com": [4, 4], "b.push.apple.com": [1], "c.push.apple.com": [1]])
    }

    @Test func idleOriginsMakeRoomForOthers() async throws {
        let hosts = ["a", "b", "c"].map { "https://\($0).push.apple.com/x" }
        for host in hosts { #expect(await outcomes([try push(host)]) == [.accepted]) }
        #expect(sender.upstreams.count == 2)
        clock.advance(by: .seconds(599))
        sender.closeIdle()
        #expect(sender.upstreams.count == 2)
        clock.advance(by: .seconds(1))
        sender.closeIdle()
        #expect(sender.upstreams.isEmpty)
    }

    @Test func anOriginThatDoesNotAnswerHoldsUpItsOwnPushesOnly() async throws {
        let sender = WebPushSender(
            transport: transport, loadLimit: 3, connectionLimit: 1, wallTime: { Self.now },
            uptime: { .zero }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        sender.use([
            WebPushAppConfiguration(
                project: Self.project, app: Self.app, subject: "mailto:push@example.com", keys: [key])
        ])
        transport.silence("slow.push.apple.com")
        let slow = "https://slow.push.apple.com/x"
        let reports = Mutex<[Int: Outcome]>([:])
        let batch = try (0..<5).map { _ in try push(slow) } + [push("https://fast.push.apple.com/x")]
        await sender.send(batch) { pieces in
            reports.withLock { reports in for piece in pieces { reports[piece.index] = piece.outcome } }
        }
        // Three are in hand; the others come again, and the other origin has had its own.
        let answers = reports.withLock { $0 }
        #expect(answers.keys.sorted() == [3, 4, 5] && answers[5] == .accepted)
        guard case .throttled(let refusal, .seconds(2))? = answers[3] else {
            Issue.record("\(String(describing: answers[3]))")
            return
        }
        #expect(refusal.scope == .load(.service))
        #expect(sender.upstreams.map(\.routes).allSatisfy { $0 == [batch[0].route] })
        // What is in hand keeps an origin open, and comes back at the end.
        transport.answer("slow.push.apple.com")
        #expect(reports.withLock { $0.count } == 6)
    }

    /// What an origin can't take at once stays in the store; one that does not answer at all keeps nothing there.
    @Test func aCrowdedOriginHoldsItsRouteUntilItIsStuck() async throws {
        let clock = clock
        let sender = WebPushSender(
            transport: transport, loadLimit: 10, connectionLimit: 1, wallTime: { Self.now },
            uptime: { clock.now.offset }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        sender.use([
            WebPushAppConfiguration(
                project: Self.project, app: Self.app, subject: "mailto:push@example.com", keys: [key])
        ])
        let changes = Mutex(0)
        sender.onHeldRoutesChange { changes.withLock { $0 += 1 } }
        transport.silence("slow.push.apple.com")
        let bulk = try push("https://slow.push.apple.com/x", lane: .bulk)
        await sender.send([bulk]) { _ in }
        #expect(sender.heldRoutes.isEmpty)
        await sender.send([bulk]) { _ in }
        let hold = try #require(sender.heldRoutes[bulk.route])
        #expect(hold.isBulkOnly && hold.retryAfter > .zero && changes.withLock { $0 } == 1)
        // It answers, and half of them have gone.
        transport.answer("slow.push.apple.com")
        #expect(sender.heldRoutes.isEmpty && changes.withLock { $0 } == 2)
        transport.silence("slow.push.apple.com")
        await sender.send([bulk, bulk]) { _ in }
        #expect(!sender.heldRoutes.isEmpty)
        clock.advance(by: .seconds(3))
        // The next one to try it finds that nothing was heard.
        await sender.send([bulk]) { _ in }
        #expect(sender.heldRoutes.isEmpty)
        transport.answer("slow.push.apple.com")
        #expect(sender.heldRoutes.isEmpty)
    }

    /// One origin of many must not hold up the app's other browsers.
    @Test func aCrowdedOriginHoldsBackItsOwnPushesAlone() async throws {
        let clock = clock
        let sender = WebPushSender(
            transport: transport, loadLimit: 10, connectionLimit: 1, wallTime: { Self.now },
            uptime: { clock.now.offset }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        sender.use([
            WebPushAppConfiguration(
                project: Self.project, app: Self.app, subject: "mailto:push@example.com", keys: [key])
        ])
        let (slow, fast) = (
            try push("https://slow.push.apple.com/x", lane: .bulk),
            try push("https://fast.push.apple.com/x", lane: .bulk)
        )
        await sender.send([fast]) { _ in }
        transport.silence("slow.push.apple.com")
        await sender.send([slow, slow]) { _ in }
        #expect(sender.heldRoutes.isEmpty)
        // What is too much comes again when about half of it has gone.
        let late = Mutex<[Outcome]>([])
        await sender.send([Push](repeating: slow, count: 9)) { pieces in
            late.withLock { $0 += pieces.map(\.outcome) }
        }
        guard case .throttled(_, .seconds(2))? = late.withLock({ $0.first }) else {
            Issue.record("\(late.withLock { $0 })")
            return
        }
        #expect(late.withLock { $0.count } == 1)
        // Both together have a fifth of what all may have.
        #expect(sender.heldRoutes[slow.route]?.isBulkOnly == true)
        transport.answer("slow.push.apple.com")
        #expect(sender.heldRoutes.isEmpty)
    }

    @Test func afterShutdownNothingIsSent() async throws {
        await sender.shutdown(within: .seconds(1))
        #expect(await outcomes([try push("https://fcm.googleapis.com/x")]) == [.notSent(.shutdown)])
    }
}

/// A transport without a network that answers 201 to everything.
private final class AnsweringTransport: RequestTransport {
    private let all = Mutex<[AnsweringPool]>([])
    var pools: [AnsweringPool] { all.withLock { $0 } }

    private let silent = Mutex<Set<String>>([])

    private let exchanges = Mutex<[String: Exchange]>([:])

    /// Answers the requests for a path so from now on.
    func set(_ exchange: Exchange, for path: String) { exchanges.withLock { $0[path] = exchange } }

    func set(_ status: Int, _ body: String, for path: String, fields: [HeaderField] = []) {
        set(.answered(Response(status: status, headers: fields, body: Array(body.utf8))), for: path)
    }

    func exchange(for path: String) -> Exchange {
        exchanges.withLock { $0[path] } ?? .answered(Response(status: 201, headers: [], body: []))
    }

    /// Leaves the requests to a host without an answer.
    func silence(_ host: String) { silent.withLock { _ = $0.insert(host) } }

    /// Answers what a host has left without an answer.
    func answer(_ host: String) {
        silent.withLock { _ = $0.remove(host) }
        for pool in pools where pool.configuration.host == host { pool.answerAll() }
    }

    func isSilent(_ host: String) -> Bool { silent.withLock { $0.contains(host) } }

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        let pool = AnsweringPool(configuration: configuration, transport: self)
        all.withLock { $0.append(pool) }
        return pool
    }

    func shutdown(within limit: Duration) async {}
}

private final class AnsweringPool: RequestPool {
    let configuration: PoolConfiguration
    private let state = Mutex<(paths: [String], authorization: String?)>(([], nil))

    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let transport: AnsweringTransport

    init(configuration: PoolConfiguration, transport: AnsweringTransport) {
        self.configuration = configuration
        self.transport = transport
    }

    func answerAll() {
        let waiting = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for answer in waiting { answer() }
    }

    var paths: [String] { state.withLock { $0.paths } }
    var authorization: String? { state.withLock { $0.authorization } }
    var statistics: PoolStatistics { PoolStatistics() }

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        state.withLock { $0.paths += requests.map(\.path) }
        let answer: @Sendable () -> Void = { [transport] in
            completion(
                requests.indices.map {
                    RequestCompletion(
                        index: $0, exchange: transport.exchange(for: requests[$0].path), latency: .zero)
                })
        }
        guard transport.isSilent(configuration.host) else { return answer() }
        waiting.withLock { $0.append(answer) }
    }

    func setFields(_ fields: [HeaderField]) {
        state.withLock { state in
            state.authorization = fields.first { $0.name == "authorization" }?.value ?? state.authorization
        }
    }

    func close(within limit: Duration) async {}
    func recycleConnections() {}
    func windDown() {}
    func reconsider() {}
    func setConnectionLimit(_ limit: Int) {}
}
