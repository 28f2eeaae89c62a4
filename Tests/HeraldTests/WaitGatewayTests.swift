import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Simulators
import TestSupport
import Testing

/// Waiting for the outcome, with a whole gateway as a process.
@Suite(.timeLimit(.minutes(5)))
struct WaitGatewayTests {
    private static let send = "/v1/projects/demo/messages:send"

    private static func body(_ token: String) -> String {
        #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#
    }

    private static func device(_ number: Int) -> String {
        String(repeating: "a\(number)", count: 32)
    }

    /// Registers a device that APNs answers as the rule says.
    private static func register(
        _ number: Int, _ rule: Rule? = nil, _ process: GatewayProcess, _ test: GatewayUnderTest
    ) async throws -> String {
        if let rule { test.simulator.rules.set(rule, for: device(number)) }
        return try await APIClient(baseURL: process.baseURL, key: test.keys.client)
            .register(deviceToken: device(number))
    }

    @Test func anAnswerOfAPNsIsTheAnswerOfTheGateway() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let later = Int64(Date().timeIntervalSince1970 * 1000) + 60_000

            let alive = try await Self.register(1, nil, process, test)
            let accepted = try await sender.post(Self.send, Self.body(alive), prefer: "wait=25")
            #expect(accepted.status == 200)
            #expect(accepted.headers["preference-applied"] == "wait=25")
            #expect(try accepted.json["outcome"] as? String == "ACCEPTED")
            let preflight = try await sender.post(
                Self.send, String(Self.body(alive).dropLast()) + #","validate_only":true}"#)
            let standing = try #require(try preflight.json["registration"] as? [String: Any])
            #expect(standing["proven"] as? Bool == true)
            #expect((standing["lastDelivery"] as? [String: Any])?["outcome"] as? String == "ACCEPTED")

            let gone = try await Self.register(2, Rule(.unregistered(since: later)), process, test)
            let unregistered = try await sender.post(Self.send, Self.body(gone), prefer: "wait=25")
            #expect(unregistered.status == 404)
            #expect(try unregistered.codes == ["UNREGISTERED", "DEVICE_UNREGISTERED"])
            let again = try await sender.post(Self.send, Self.body(gone))
            #expect(again.status == 404)
            #expect(try again.codes == ["UNREGISTERED", "REGISTRATION_ENDED"])

            let bad = Rule(.reject(status: 400, reason: "BadDeviceToken"))
            let refused = try await sender.post(
                Self.send, Self.body(try await Self.register(3, bad, process, test)), prefer: "wait=25")
            #expect(refused.status == 400)
            #expect(try refused.codes == ["INVALID_ARGUMENT", "DEVICE_TOKEN_REFUSED"])
            #expect(refused.text.contains(#""field":"message.token""#))
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test(arguments: [
        ("Forbidden", 403, 1), ("BadEnvironmentKeyIdInToken", 403, 1), ("TopicDisallowed", 400, 1),
        ("InvalidProviderToken", 403, 2), ("ExpiredProviderToken", 403, 2),
    ])
    func aRefusedCredentialIsToldAtOnceAndNothingStaysQueued(
        reason: String, status: Int, attempts: Int
    ) async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let refusal = Rule(.reject(status: status, reason: reason))
            let token = try await Self.register(1, refusal, process, test)
            // The second finds the upstream paused: the gateway itself holds it back, unless it comes so late that it is the
            // next probe.
            for _ in 0..<2 {
                let answer = try await sender.post(Self.send, Self.body(token), prefer: "wait=25")
                #expect(answer.status == 401)
                #expect(answer.headers["www-authenticate"] == nil)
                #expect(try answer.codes == ["THIRD_PARTY_AUTH_ERROR", "APNS_CREDENTIAL_REFUSED"])
                #expect(answer.text.contains("Auth error from APNS or Web Push Service"))
                let report = try await sender.get("/v1/\(try #require(try answer.message))").json
                #expect(report["state"] as? String == "COMPLETE")
                #expect(report["rejectedByReason"] as? [String: Int] == [reason: 1])
            }
            #expect((attempts...attempts + 1).contains(test.simulator.recording.count))
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func afterTheDeadlineTheDeliveryGoesOn() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let busy = Rule(.reject(status: 429, reason: "TooManyRequests"), times: 1)
            let token = try await Self.register(1, busy, process, test)
            // Repeated after 5 s at the earliest.
            let answer = try await sender.post(Self.send, Self.body(token), prefer: "wait=1")
            #expect(answer.status == 200)
            #expect(try answer.json["outcome"] as? String == "IN_FLIGHT")
            await test.simulator.recording.wait(untilCount: 2)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func aStoppingGatewayAnswersWaitingSendersAtOnce() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let slow = Rule(.accept, delayMilliseconds: 3000)
            let token = try await Self.register(1, slow, process, test)
            async let answer = sender.post(Self.send, Self.body(token), prefer: "wait=30")
            await test.simulator.recording.wait(untilCount: 1)
            #expect(await process.end(with: SIGTERM) == 0)
            let (status, outcome) = try await (answer.status, answer.json["outcome"] as? String)
            #expect(status == 200)
            #expect(outcome == "IN_FLIGHT")
        }
    }
}

extension APIClient {
    /// Posts with a `Prefer` header.
    func post(_ path: String, _ body: String, prefer: String) async throws -> Answer {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        request.headers.add(name: "prefer", value: prefer)
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await HTTPClient.shared.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return Answer(
            status: Int(response.status.code), body: Data(bytes.readableBytesView),
            headers: Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 }))
    }
}

extension APIClient.Answer {
    private var details: [[String: Any]] {
        get throws { ((try json["error"] as? [String: Any])?["details"] as? [[String: Any]]) ?? [] }
    }

    /// FCM's code and our reason.
    fileprivate var codes: [String] {
        get throws {
            try [details.first?["errorCode"], details.last?["reason"]].compactMap { $0 as? String }
        }
    }

    /// The message that our detail names.
    fileprivate var message: String? {
        get throws { (try details.last?["metadata"] as? [String: Any])?["message"] as? String }
    }
}
