import PushModel
import Testing

@testable import Delivery

/// What the runner knows of held routes.
@Suite(.timeLimit(.minutes(5)))
struct HeldReadingTests {
    @Test func aChangeWhileTheHeldRoutesAreReadIsTheLastWord() async throws {
        let rig = Rig()
        let route = PushRoute(project: Sample.projectID, app: Sample.appID, channel: .apns(.production))
        try await rig.store.add(Sample.registration(1))
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            // The route is free again after it was read as held, and before that was applied.
            rig.sender.onNextRead { rig.sender.hold([:]) }
            rig.sender.hold([route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            #expect(!rig.runner.isHeld(route, in: .interactive))
            rig.sender.hold([route: HeldRoute(retryAfter: .seconds(3600), limit: 1)])
            #expect(rig.runner.isHeld(route, in: .interactive))
        }
    }
}
