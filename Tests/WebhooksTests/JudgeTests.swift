import Foundation
import IPAddresses
import JSON
import Logging
import PushModel
import Store
import TestSupport
import Testing

@testable import Webhooks

/// Libraries of receivers, not ours, take what is sent over a socket.
@Suite(.timeLimit(.minutes(3)))
struct JudgeTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "webhook_judges.py").path()
    private static let python = ProcessInfo.processInfo.environment["HERALD_PYTHON"] ?? ""

    private static func isFound() async throws -> Bool {
        guard !python.isEmpty else { return false }
        let imports = "import standardwebhooks, svix, cryptography"
        return try await ChildProcess.run(python, ["-c", imports]).status == 0
    }

    @Test(
        .enabled("needs HERALD_PYTHON with standardwebhooks, svix and cryptography") { try await isFound() },
        arguments: ["standardwebhooks", "svix", "ed25519"])
    func librariesOfReceiversVerifyRequests(group: String) async throws {
        let directory = try TestDirectory()
        try await cases().write(to: URL(filePath: directory.file("cases.json")))
        let ended = try await ChildProcess.run(Self.python, ["-B", Self.script, group, directory.file("cases.json")])
        let checks = ended.lines.count { $0.hasPrefix("ok ") }
        let isDone = ended.status == 0 && checks > 3 && ended.lines.last == "done \(checks)"
        #expect(isDone, "\(ended.lines.suffix(30).joined(separator: "\n"))")
    }

    /// Requests as a receiver got them: of a new endpoint, and of one whose secret was just replaced, for both secrets.
    private func cases() async throws -> Data {
        let receiver = try WebhookReceiver()
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let pair = WebhookSecret.random(.ed25519, at: now)
        let (new, first) = (WebhookSecret.random(.symmetric, at: now), WebhookSecret.random(.symmetric, at: now))
        var old = first
        old.expiresAt = now + .seconds(3600)
        let scene = try await EndpointScene()
        var services = scene.services
        services.wallTime = { now }
        let transport = HTTPWebhookTransport(
            policy: WebhookPolicy(
                allowedHTTP: ["127.0.0.1"], allowedNetworks: [IPNetwork("127.0.0.0/8")].compactMap { $0 }),
            lookup: { _, _ in .success([]) }, wallTime: { now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        services.transport = transport
        var cases: [JSONValue] = []
        for (secrets, verifying) in [([first, pair], [first]), ([new, pair, old], [new, old])] {
            var endpoint = try await scene.add()
            endpoint.settings.url = receiver.url()
            endpoint.secrets = secrets
            let (answer, _) = await services.send(.test(of: endpoint, number: 7, at: now), to: endpoint)
            #expect(answer.status == 204)
            let request = try #require(receiver.requests.last)
            let headers = request.headers.filter { $0.key.hasPrefix("webhook-") }
            cases += verifying.map { secret in
                .object([
                    .init("secret", .string(secret.receiverText ?? "")),
                    .init("publicKey", .string(pair.receiverText ?? "")),
                    .init("headers", .object(headers.map { .init($0.key, .string($0.value)) })),
                    .init("body", .string(request.text)),
                ])
            }
        }
        await transport.shutdown()
        return Data(JSONValue.array(cases).bytes)
    }
}
