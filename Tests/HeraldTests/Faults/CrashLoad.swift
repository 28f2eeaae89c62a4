import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport

/// What callers asked for during a crash run, and what they were answered.
///
/// Each request carries a marker of its own as its analytics label and in its payload, so that a push that arrives, a
/// row of the export and the answer of the caller can be laid side by side, also when the caller has no answer.
final class CrashLoad: Sendable {
    /// What a caller knows of its request.
    enum Verdict: Hashable, Sendable {
        /// 200 with this name: it must reach every recipient.
        case accepted(String)
        /// Another status: nothing of it may ever be sent.
        case refused(Int)
        /// No answer: either wholly delivered or never sent.
        case unknown
    }

    /// To whom a request goes.
    enum Kind: Hashable, Sendable {
        case device(Int)
        case topic(String)
        case condition
        /// A request that breaks a rule.
        case wrong
    }

    struct Sent: Sendable {
        let kind: Kind
        let verdict: Verdict
    }

    /// Where the gateway is.
    let address = GatewayAddress()
    private let requests = Mutex<[String: Sent]>([:])
    private let key: String
    private let tokens: [String]
    private let client: HTTPClient

    /// - Parameter tokens: the registration token of each device.
    init(key: String, tokens: [String]) {
        self.key = key
        self.tokens = tokens
        var configuration = HTTPClient.Configuration()
        // A port without a listener is not tried again: the next gateway has another.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(1)
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Every request by its marker.
    var sent: [String: Sent] { requests.withLock { $0 } }

    /// Whether so many requests, and so many broadcasts among them, were answered with 200.
    func hasAccepted(_ count: Int, broadcasts: Int) -> Bool {
        requests.withLock { requests in
            var (accepted, toMany) = (0, 0)
            for sent in requests.values {
                guard case .accepted = sent.verdict else { continue }
                accepted += 1
                switch sent.kind {
                case .topic, .condition: toMany += 1
                case .device, .wrong: break
                }
            }
            return accepted >= count && toMany >= broadcasts
        }
    }

    func shutdown() async throws {
        try await client.shutdown()
    }

    /// One caller: asks for one thing after the other until the run is over.
    func run(_ caller: Int, _ kind: (inout SeededRandom) -> Kind, pause: ClosedRange<Int>, random: SeededRandom) async {
        var random = random
        var number = 0
        while let baseURL = await address.next() {
            number += 1
            let marker = "c\(caller)-\(number)"
            let kind = kind(&random)
            let verdict = await send(kind, marker, to: baseURL)
            requests.withLock { $0[marker] = Sent(kind: kind, verdict: verdict) }
            if verdict == .unknown { address.forget(baseURL) }
            do {
                // The load of a run: not a wait for anything.
                try await Task.sleep(for: .milliseconds(Int.random(in: pause, using: &random)))
            } catch {
                return
            }
        }
    }

    private func body(_ kind: Kind, _ marker: String) -> String {
        let rest = #""notification":{"title":"\#(marker)"},"fcm_options":{"analytics_label":"\#(marker)"}"#
        return switch kind {
        case .device(let index): #"{"message":{"token":"\#(tokens[index])",\#(rest)}}"#
        case .topic(let topic): #"{"message":{"topic":"\#(topic)",\#(rest)}}"#
        case .condition: #"{"message":{"condition":"'all' in topics && !('some' in topics)",\#(rest)}}"#
        case .wrong: #"{"message":{"topic":"all","apns":{"headers":{"apns-priority":"11"}},\#(rest)}}"#
        }
    }

    private func send(_ kind: Kind, _ marker: String, to baseURL: String) async -> Verdict {
        var request = HTTPClientRequest(url: baseURL + "/v1/projects/demo/messages:send")
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: body(kind, marker)))
        do {
            let response = try await client.execute(request, timeout: .seconds(20))
            let status = Int(response.status.code)
            guard status == 200 else { return .refused(status) }
            let bytes = try await response.body.collect(upTo: 1 << 20)
            let json = try JSONSerialization.jsonObject(with: Data(bytes.readableBytesView)) as? [String: Any]
            guard let name = json?["name"] as? String else { return .unknown }
            return .accepted(name)
        } catch {
            return .unknown
        }
    }
}
