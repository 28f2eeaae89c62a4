import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import Simulators
import TestSupport
import Testing

/// Callers, answers and deadlines of the fault tests.
struct FaultSteps {
    let process: GatewayProcess
    let keys: GatewayUnderTest.Keys

    /// Each request has a connection of its own: gateways follow one another on one port.
    var sender: APIClient { APIClient(baseURL: process.baseURL, key: keys.sender) }

    /// Sends to a topic; what it is called is its title too.
    func broadcast(_ title: String, to topic: String = "weather") async throws -> APIClient.Answer {
        try await sender.post(
            "/v1/projects/demo/messages:send",
            #"{"message":{"topic":"\#(topic)","notification":{"title":"\#(title)"},"fcm_options":{"analytics_label":"\#(title)"}}}"#
        )
    }

    /// Sends until the gateway refuses; gives the names that it accepted and the refusal.
    func broadcastUntilRefused(_ prefix: String) async throws -> (names: [String], refusal: APIClient.Answer) {
        var names: [String] = []
        for number in 0..<20_000 {
            let answer = try await broadcast("\(prefix)-\(number)")
            guard answer.status == 200 else { return (names, answer) }
            names.append(try #require(try answer.json["name"] as? String))
        }
        throw ChildProcessError("the gateway accepted everything")
    }

    /// The refusal of a store that does not take writes: nothing is kept, and the caller knows when to come back.
    func expectUnavailable(_ answer: APIClient.Answer) throws {
        #expect(answer.status == 503, "\(answer.text)")
        #expect(Int(answer.headers["retry-after"] ?? "") ?? 0 >= 1)
        let error = try #require(try answer.json["error"] as? [String: Any])
        #expect(error["status"] as? String == "UNAVAILABLE")
    }

    /// What `/readyz` says is wrong; `nil` when it is ready.
    func problems() async throws -> [String]? {
        let answer = try await sender.get("/readyz")
        guard answer.status != 200 else { return nil }
        #expect(answer.status == 503 && answer.headers["retry-after"] != nil, "\(answer.text)")
        return try #require(try answer.json["problems"] as? [String])
    }

    /// Asks until the gateway answers.
    func untilAlive() async throws {
        try await until("alive") { try await answered { try await sender.get("/healthz").status == 200 } }
    }

    /// Asks until the gateway is ready.
    func untilReady() async throws {
        try await until("ready") { try await answered { try await problems() == nil } }
    }

    /// Whether there is an answer and it is so. While one listener hands its port over to the next, a connection may be
    /// refused or end without an answer: that is "not yet".
    private func answered(_ isSo: () async throws -> Bool) async throws -> Bool {
        do {
            return try await isSo()
        } catch is HTTPClientError {
            return false
        } catch is ChannelError {
            return false
        } catch is IOError {
            return false
        } catch is NIOConnectionError {
            return false
        }
    }

    /// Asks again and again: HTTP has no signal for what a gateway does by itself.
    func until(_ what: String, within limit: Duration = .seconds(60), _ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while !(try await isSo()) {
            guard ContinuousClock.now < deadline else {
                throw ChildProcessError("not \(what) in time: \(process.lines.suffix(10))")
            }
            // Another process: it has to be asked.
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Waits until each of `names` is complete, all of `count` recipients accepted.
    func expectComplete(_ names: [String], recipients count: Int) async throws {
        for name in names {
            let report = try await WholeGatewayTests.completeReport(name, process, keys)
            #expect(
                try WholeGatewayTests.ledger(report) == [
                    "recipients": count, "accepted": count, "rejected": 0, "expired": 0, "cancelled": 0, "inFlight": 0,
                ], "\(name)")
        }
    }
}
