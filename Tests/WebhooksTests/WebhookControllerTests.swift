import IPAddresses
import PushModel
import Store
import TestSupport
import Testing

@testable import Webhooks

/// What owners of endpoints ask for.
@Suite(.timeLimit(.minutes(1)))
struct WebhookControllerTests {
    private static let url = "https://hooks.example.com/"

    /// Name servers that answer nothing hold up no request for longer than its time.
    @Test func aCheckDoesNotWaitForNameServersThatHang() async throws {
        let scene = try await EndpointScene()
        let controller = WebhookController(scene.services, policy: WebhookPolicy()) { _, _ in
            // Until it is cancelled.
            try? await Task.sleep(for: .longerThanAnyTest)
            return .success([])
        }
        async let check: Void = controller.check(Self.url, for: EndpointScene.project)
        await scene.clock.sleepers(1, within: WebhookController.checkTimeout)
        scene.clock.advance(by: WebhookController.checkTimeout)
        try await check
    }

    @Test func aCheckLooksWhereTheNameLeadsForItsProject() async throws {
        let scene = try await EndpointScene()
        let asked = Shared<[String]>([])
        let controller = WebhookController(scene.services, policy: WebhookPolicy()) { host, project in
            asked.withLock { $0.append("\(host) \(project)") }
            return .success(["127.0.0.1"].compactMap { IPAddress($0) })
        }
        await #expect(throws: WebhookURLProblem.self) {
            try await controller.check(Self.url, for: EndpointScene.project)
        }
        #expect(asked.withLock { $0 } == ["hooks.example.com demo"])
    }
}
