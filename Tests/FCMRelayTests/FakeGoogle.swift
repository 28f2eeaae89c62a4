import CryptoExtras
import FCMWire
import Foundation
import JSON
import Logging
import PushModel
import Synchronization
import TestSupport

@testable import FCMRelay
@testable import HTTP2Client
@testable import Upstream

/// Google without a network: answers to token requests and to messages, from two closures.
final class FakeGoogle: RequestTransport {
    struct Seen: Sendable {
        let path: String
        let body: [UInt8]
        let authorization: String?
    }

    struct State: Sendable {
        var seen: [Seen] = []
        var tokenRequests = 0
        var token: @Sendable (Int) -> Exchange = { FakeGoogle.granted("token-\($0)") }
        var message: @Sendable (Seen) -> Exchange = { _ in
            FakeGoogle.answer(200, #"{"name":"projects/upstream-1/messages/0:1%1"}"#)
        }
        var pools: [PoolConfiguration] = []
    }

    let state = Mutex(State())
    /// Token requests wait here while a test holds them.
    let gate = Mutex<[@Sendable () -> Void]?>(nil)

    var messages: [Seen] { state.withLock { $0.seen } }
    var tokenRequests: Int { state.withLock { $0.tokenRequests } }

    static func answer(_ status: Int, _ body: String, headers: [HeaderField] = []) -> Exchange {
        .answered(Response(status: status, headers: headers, body: Array(body.utf8)))
    }

    static func granted(_ token: String, seconds: Int = 3600) -> Exchange {
        answer(200, #"{"access_token":"\#(token)","expires_in":\#(seconds),"token_type":"Bearer"}"#)
    }

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool {
        state.withLock { $0.pools.append(configuration) }
        return Pool(google: self, isForTokens: configuration.host == "oauth2.example.com")
    }

    func shutdown(within limit: Duration) async {}

    private final class Pool: RequestPool {
        private let google: FakeGoogle
        private let isForTokens: Bool
        private let authorization = Mutex<String?>(nil)

        init(google: FakeGoogle, isForTokens: Bool) {
            self.google = google
            self.isForTokens = isForTokens
        }

        var statistics: PoolStatistics { PoolStatistics() }

        func submit(
            _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
            completion: @escaping @Sendable ([RequestCompletion]) -> Void
        ) async {
            let authorization = authorization.withLock { $0 }
            for (index, request) in requests.enumerated() {
                let finish: @Sendable () -> Void = { [google, isForTokens] in
                    let exchange =
                        isForTokens
                        ? google.answerToken()
                        : google.answer(Seen(path: request.path, body: request.body, authorization: authorization))
                    completion([RequestCompletion(index: index, exchange: exchange, latency: .zero)])
                }
                let isHeld = google.gate.withLock { held in
                    guard isForTokens, held != nil else { return false }
                    held?.append(finish)
                    return true
                }
                if !isHeld { finish() }
            }
        }

        func setFields(_ fields: [HeaderField]) {
            authorization.withLock { $0 = fields.first { $0.name == "authorization" }?.value }
        }

        func close(within limit: Duration) async {}
        func recycleConnections() {}
        func windDown() {}
        func reconsider() {}
        func setConnectionLimit(_ limit: Int) {}
    }

    private func answerToken() -> Exchange {
        let (number, answer) = state.withLock { state in
            state.tokenRequests += 1
            return (state.tokenRequests, state.token)
        }
        return answer(number)
    }

    private func answer(_ seen: Seen) -> Exchange {
        let answer = state.withLock { state in
            state.seen.append(seen)
            return state.message
        }
        return answer(seen)
    }
}

/// Values that the tests share.
enum Sample {
    static let project = ProjectID(rawValue: "demo")!
    static let app = AppID(rawValue: "com.example.app")!
    static let route = PushRoute(project: project, app: app, channel: .fcm)
    /// Made once: it takes a while.
    private static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    static func account(_ changes: [String: String] = [:]) throws -> ServiceAccount {
        var file = [
            "type": "service_account", "project_id": "upstream-1", "private_key_id": "k1",
            "private_key": try key.get().pkcs8PEMRepresentation, "client_email": "sender@upstream-1.example.com",
            "token_uri": "https://oauth2.example.com/token",
        ]
        file.merge(changes) { _, new in new }
        let members = file.map { JSONValue.Member($0.key, .string($0.value)) }
        return try ServiceAccount(json: JSONValue.object(members).bytes)
    }

    static func push(
        _ number: Int64 = 1, app: AppID = Sample.app, json: String = #"{"notification":{"title":"Hi"}}"#,
        lane: Lane = .bulk
    ) throws -> Push {
        let content = try AndroidPush(
            FCMMessage(source: JSONValue(parsing: Array(json.utf8))),
            in: PushContext(
                message: MessageID(rawValue: "m-1")!, projectNumber: 123, broadcastTopic: nil,
                app: App(id: app, service: .android(isReached: true)), expiresAt: Timestamp(seconds: 1_800_000_000)))
        return Push(
            route: PushRoute(project: project, app: app, channel: .fcm), lane: lane,
            address: .android(AndroidToken(rawValue: "device-\(number):abcdefgh")!), isProven: true, content: content,
            payload: content.payload,
            id: PushID(message: MessageID(rawValue: "m-1")!, registration: RegistrationKey(rawValue: number)))
    }
}

/// A sender at a fake Google.
struct SenderRig {
    let google = FakeGoogle()
    let time = TestTime()
    let sender: FCMRelaySender

    init(maxPerSecond: Int = 0, account: ServiceAccount? = nil) throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        sender = FCMRelaySender(
            router: UpstreamRouter(
                transport: google, connectionLimit: 2, doubtfulAddresses: DoubtfulAddressLimits(),
                wallTime: time.wallTime, uptime: time.uptime, logger: logger), logger: logger)
        try sender.use([
            FCMRelayAppConfiguration(
                project: Sample.project, app: Sample.app, account: account ?? Sample.account(),
                maxPerSecond: maxPerSecond)
        ])
    }

    func reports(_ batch: [Push]) async -> [PushReport] {
        let reports = Mutex<[PushReport]>([])
        await sender.send(batch) { pieces in reports.withLock { $0 += pieces } }
        return reports.withLock { $0 }.sorted { $0.index < $1.index }
    }

    func outcomes(_ batch: [Push]) async -> [Outcome] { await reports(batch).map(\.outcome) }
}
