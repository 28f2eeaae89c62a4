import Foundation
import PushModel

/// What the benchmarks ask of a running gateway.
struct GatewayClient: Sendable {
    /// Without a slash at the end.
    let address: String
    let key: String

    private var project: String { "\(address)/v1/projects/\(GatewayFiles.project)" }

    /// Where messages are sent to.
    var sendAddress: String { project + "/messages:send" }

    /// Where apps register.
    var registrationsAddress: String { project + "/registrations" }

    /// Where messages are listed.
    var messagesAddress: String { project + "/messages" }

    /// A report as far as the benchmarks read it.
    struct Report: Decodable {
        let state: String
        let acceptTime: String
        let completeTime: String?
        let ledger: Ledger

        struct Ledger: Decodable {
            let recipients: Int
            let accepted: Int
            let inFlight: Int
        }
    }

    private struct Name: Decodable {
        let name: String
    }

    /// Sends `message`, a whole request; the name that it got.
    func send(_ message: String) async throws -> String {
        try await HTTP.post(message, to: sendAddress, key: key, as: Name.self).name
    }

    /// Makes a webhook that gets some types of events from now on; its name.
    func createWebhook(_ url: String, types: [String]) async throws -> String {
        let list = types.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"url":"\#(url)","types":[\#(list)]}"#
        return try await HTTP.post(body, to: project + "/webhooks", key: key, as: Name.self).name
    }

    /// Stops a webhook.
    func deleteWebhook(_ name: String) async throws {
        try await HTTP.delete("\(address)/v1/\(name)", key: key)
    }

    private struct BatchAnswer: Decodable {
        let responses: [Item]

        struct Item: Decodable {
            let name: String?
        }
    }

    /// Sends a batch of messages, a whole request.
    ///
    /// - Returns: how many of them were taken.
    func sendBatch(_ batch: String) async throws -> Int {
        try await HTTP.post(batch, to: project + "/messages:batchSend", key: key, as: BatchAnswer.self)
            .responses.count { $0.name != nil }
    }

    /// The report of a message by its name.
    func report(_ name: String) async throws -> Report {
        try await HTTP.get("\(address)/v1/\(name)", key: key, as: Report.self)
    }

    /// Waits until nothing of a message is open.
    func completion(of name: String, within limit: Duration) async throws -> Report {
        let begin = ContinuousClock.now
        while ContinuousClock.now - begin < limit {
            let report = try await report(name)
            if report.completeTime != nil { return report }
            // The gateway's own times are what counts; asking seldom leaves it alone.
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchFailure("\(name) was not complete within \(limit)")
    }
}

extension GatewayClient.Report {
    /// From accept to the last settlement, by the gateway's clock, in seconds.
    var seconds: Double {
        get throws {
            guard let completeTime, let start = Self.milliseconds(acceptTime), let end = Self.milliseconds(completeTime)
            else { throw BenchFailure("the report has no times") }
            return Double(max(1, end - start)) / 1000
        }
    }

    private static func milliseconds(_ text: String) -> Int64? {
        Timestamp(rfc3339: text)?.milliseconds
    }
}
