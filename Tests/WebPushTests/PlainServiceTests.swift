import Crypto
import FCMWire
import Foundation
import JSON
import Logging
import NIOHTTP1
import PushModel
import Signing
import Synchronization
import TestSupport
import Testing
import Upstream

@testable import WebPush

/// Pushes to a service that speaks HTTP/1.1 only, over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct PlainServiceTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private static let project = ProjectID(rawValue: "demo")!
    private static let app = AppID(rawValue: "www.example.com")!

    private let server: PlainPushServer
    private let sender: WebPushSender

    init() async throws {
        server = try await PlainPushServer()
        sender = WebPushSender(
            loopCount: 1, connectionLimit: 2, wallTime: { Self.now },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let key = try ES256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation)
        sender.use([
            WebPushAppConfiguration(
                project: Self.project, app: Self.app, subject: "mailto:push@example.com", keys: [key],
                services: [try #require(PushServiceName("localhost:\(server.port)"))], trustFile: server.caFile)
        ])
    }

    private func push(_ path: String) throws -> Push {
        let content = try BrowserPush(
            FCMMessage(source: JSONValue(parsing: Array(#"{"notification":{"title":"Hello"}}"#.utf8))),
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: nil, app: App(web: Self.app),
                expiresAt: Self.now + .seconds(3600)))
        let subscription = try #require(
            WebSubscription(
                endpoint: "https://localhost:\(server.port)\(path)",
                key: Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation),
                secret: [UInt8](repeating: 7, count: 16), applicationKey: nil))
        return Push(
            route: PushRoute(project: Self.project, app: Self.app, channel: .webPush), lane: .bulk,
            address: .web(subscription), isProven: true, content: content, payload: content.payload,
            id: PushID(message: MessageID(rawValue: "m-1")!, registration: RegistrationKey(rawValue: 1)))
    }

    private func outcomes(_ paths: [String]) async throws -> [Outcome] {
        let batch = try paths.map(push)
        let reports = Mutex<[Int: Outcome]>([:])
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        await sender.send(batch) { pieces in
            let isLast = reports.withLock { reports in
                for piece in pieces { #expect(reports.updateValue(piece.outcome, forKey: piece.index) == nil) }
                return reports.count == batch.count
            }
            if isLast { end.finish() }
        }
        for await _ in ends {}
        let all = reports.withLock { $0 }
        return batch.indices.compactMap { all[$0] }
    }

    @Test func theRequestIsTheSameAsOverHTTP2() async throws {
        #expect(try await outcomes(["/up?id=1"]) == [.accepted])
        let seen = try #require(server.seen.first)
        #expect(seen.head.method == .POST && seen.head.uri == "/up?id=1" && seen.head.version == .http1_1)
        let fields = seen.head.headers
        #expect(fields["host"] == ["localhost:\(server.port)"] && fields["ttl"] == ["3600"])
        #expect(fields["content-encoding"] == ["aes128gcm"] && fields["content-length"] == [String(seen.body.count)])
        #expect(fields["authorization"].first?.hasPrefix("vapid t=") == true && fields["authorization"].count == 1)
        let status = try #require(sender.upstreams.first)
        #expect(status.isReachable && status.circuit == .closed && status.failedDials == 0)
        await sender.shutdown(within: .seconds(5))
        try await server.close()
    }

    @Test func aBroadcastKeepsToTheLimitOfConnections() async throws {
        let paths = (0..<200).map { "/\($0)" }
        #expect(try await outcomes(paths) == [Outcome](repeating: .accepted, count: paths.count))
        #expect(Set(server.seen.map(\.head.uri)) == Set(paths) && server.seen.count == paths.count)
        #expect(server.mostConnections <= 2)
        await sender.shutdown(within: .seconds(5))
        try await server.close()
    }

    @Test func answersMeanTheSame() async throws {
        server.set(.init(status: .gone), for: "/gone")
        server.set(.init(status: .movedPermanently, fields: ["location": "https://127.0.0.1:1/"]), for: "/moved")
        server.set(.init(status: .payloadTooLarge, body: String(repeating: "x", count: 100_000)), for: "/large")
        server.set(.init(status: .serviceUnavailable, fields: ["retry-after": "7"]), for: "/later")
        let answers = try await outcomes(["/gone", "/moved", "/large"])
        #expect(
            answers == [
                .rejected(Refusal(.subscriptionGone, .addressDead(since: Self.now))),
                .rejected(Refusal(.moved, .push(.address))),
                .rejected(Refusal(.payloadTooLarge, .push(.payloadSize))),
            ])
        #expect(server.seen.count == 3)
        await sender.shutdown(within: .seconds(5))
        try await server.close()
    }

    @Test func aRestThatItAsksForIsKept() async throws {
        server.set(.init(status: .serviceUnavailable, fields: ["Retry-After": "7"]), for: "/later")
        #expect(
            try await outcomes(["/later"])
                == [.throttled(Refusal(.serviceUnavailable, .load(.service)), after: .seconds(7))])
        await sender.shutdown(within: .seconds(5))
        try await server.close()
    }
}
