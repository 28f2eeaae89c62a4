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

    private func push(_ endpoint: String, key: ES256PrivateKey? = nil) throws -> Push {
        let content = try BrowserPush(
            FCMMessage(source: JSONValue(parsing: Array(#"{"notification":{"title":"Hello"}}"#.utf8))),
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: nil, app: App(web: Self.app),
                expiresAt: Self.now + .seconds(3600)))
        let subscription = try #require(
            WebSubscription(
                endpoint: endpoint, key: Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation),
                secret: [UInt8](repeating: 7, count: 16), applicationKey: key?.publicPoint))
        return Push(
            route: PushRoute(project: Self.project, app: Self.app, channel: .webPush), lane: .interactive,
            address: .web(subscription), content: content, payload: content.payload,
            id: PushID(message: MessageID(rawValue: "m-1")!, registration: RegistrationKey(rawValue: 1)))
    }

    private func outcomes(_ batch: [Push]) async -> [Outcome] {
        let reports = Mutex<[Int: Outcome]>([:])
        await sender.send(batch) { pieces in
            reports.withLock { reports in
                for piece in pieces { #expect(reports.updateValue(piece.outcome, forKey: piece.index) == nil) }
            }
        }
        let all = reports.withLock { $0 }
        return batch.indices.compactMap { all[$0] }
    }

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
        "https://evilpush.apple.com/x", "https://metadata.google.internal/x",
    ])
    func nothingGoesToAnyOtherHost(endpoint: String) async throws {
        #expect(await outcomes([try push(endpoint)]) == [.rejected(Refusal(.serviceNotAllowed, .push(.address)))])
        #expect(transport.pools.isEmpty)
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

    @Test func afterShutdownNothingIsSent() async throws {
        await sender.shutdown(within: .seconds(1))
        #expect(await outcomes([try push("https://fcm.googleapis.com/x")]) == [.notSent(.shutdown)])
    }
}

/// A transport without a network that answers 201 to everything.
private final class AnsweringTransport: RequestTransport {
    private let all = Mutex<[AnsweringPool]>([])
    var pools: [AnsweringPool] { all.withLock { $0 } }

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        let pool = AnsweringPool(configuration: configuration)
        all.withLock { $0.append(pool) }
        return pool
    }

    func shutdown(within limit: Duration) async {}
}

private final class AnsweringPool: RequestPool {
    let configuration: PoolConfiguration
    private let state = Mutex<(paths: [String], authorization: String?)>(([], nil))

    init(configuration: PoolConfiguration) {
        self.configuration = configuration
    }

    var paths: [String] { state.withLock { $0.paths } }
    var authorization: String? { state.withLock { $0.authorization } }
    var statistics: PoolStatistics { PoolStatistics() }

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        state.withLock { $0.paths += requests.map(\.path) }
        completion(
            requests.indices.map {
                RequestCompletion(
                    index: $0, exchange: .answered(Response(status: 201, headers: [], body: [])), latency: .zero)
            })
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
