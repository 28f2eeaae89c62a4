import Crypto
import Foundation
import Logging
import PushModel
import Signing
import Synchronization
import TestSupport
import Testing

@testable import APNS
@testable import HTTP2Client
@testable import Upstream

/// Whatever the management host answers, there is a value or a failure, and only what the status says was done.
@Suite(.timeLimit(.minutes(5)))
struct ChannelAnswerFuzzTests {
    private static let home = ChannelHome(
        project: ProjectID(rawValue: "demo")!, app: AppID(rawValue: "com.example.app")!, environment: .production)
    private static let bodies = [
        #"{"channels":["dHN0LXNyY2gtY2hubA==","a+/b=="]}"#, #"{"channels":[1,null,"",{"a":[]}]}"#, #"{"channels":{}}"#,
        #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#, #"{"message-storage-policy":1e400}"#,
        #"{"reason":"CannotCreateChannelConfig"}"#, #"{"reason":"ChannelNotRegistered","timestamp":-1}"#,
        "<html>", "[[[[[[[[[[", "",
    ].map { Array($0.utf8) }
    private static let statuses = [200, 201, 204, 206, 302, 400, 403, 404, 410, 413, 429, 500, 503, 999]
    private static let ids = ["dHN0LXNyY2gtY2hubA==", "", " ", "a\u{0}b", String(repeating: "A", count: 5000)]

    @Test(arguments: 1...2 as ClosedRange<UInt64>)
    func anyAnswerIsRead(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let transport = OneAnswerTransport()
        let wallTime: WallTime = { Timestamp(seconds: 1_700_000_000) }
        let client = APNSChannelClient(
            requester: ServiceRequester(
                transport: transport, uptime: { .zero },
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })),
            wallTime: wallTime, uptime: { .zero })
        let key = try ES256PrivateKey(pem: P256.Signing.PrivateKey().pemRepresentation)
        client.use([
            APNSAppConfiguration(
                project: Self.home.project, app: Self.home.app, teamID: "TEAM123456", keyID: "ABC1234567", key: key,
                endpoints: [.production: UpstreamEndpoint(host: "127.0.0.1", port: 1)], trustFile: nil)
        ])
        let id = try #require(ChannelID(rawValue: "dHN0LXNyY2gtY2hubA=="))
        for input in 0..<1500 {
            var body = Self.bodies.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 0...3, using: &random) where !body.isEmpty {
                body[Int.random(in: 0..<body.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let status = Self.statuses.randomElement(using: &random) ?? 0
            let headers = [
                HeaderField("apns-channel-id", Self.ids.randomElement(using: &random) ?? ""),
                HeaderField(
                    "retry-after", ["7", "-1", "99999999999999999999", "x"].randomElement(using: &random) ?? ""),
            ]
            transport.answer.withLock {
                $0 = .answered(Response(status: status, headers: headers, body: body))
            }
            let failure: ChannelFailure?
            let success: Int
            switch input % 4 {
            case 0: (failure, success) = (await client.create(.none, in: Self.home).failure, 201)
            case 1: (failure, success) = (await client.storagePolicy(of: id, in: Self.home).failure, 200)
            case 2: (failure, success) = (await client.channels(in: Self.home).failure, 200)
            default: (failure, success) = (await client.delete(id, in: Self.home).failure, 204)
            }
            if failure == nil { #expect(status == success, "seed \(seed), input \(input)") }
            if let after = failure?.retryAfter {
                #expect(after >= .zero && after <= .seconds(3600), "seed \(seed), input \(input)")
            }
        }
        await client.shutdown(within: .zero)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}

/// Answers every request alike.
private final class OneAnswerTransport: RequestTransport, RequestPool {
    let answer = Mutex(Exchange.notSent(TransportFailure(.shutdown, "no answer")))

    func openPool(_ configuration: PoolConfiguration) throws(TransportFailure) -> any RequestPool { self }

    func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)?,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        let exchange = answer.withLock { $0 }
        completion(requests.indices.map { RequestCompletion(index: $0, exchange: exchange, latency: .zero) })
    }

    func shutdown(within limit: Duration) async {}
    var statistics: PoolStatistics { PoolStatistics() }
    func close(within limit: Duration) async {}
    func recycleConnections() {}
    func setFields(_ fields: [HeaderField]) {}
    func windDown() {}
    func reconsider() {}
    func setConnectionLimit(_ limit: Int) {}
}
