import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// Refused device tokens through the runner: the other environment, quarantine, the mark of the proven.
@Suite(.timeLimit(.minutes(5)))
struct ProbeTests {
    private static func project(bothEnvironments: Bool = true) -> Project {
        Project(
            id: Sample.projectID, number: 1,
            apps: [
                App(
                    id: Sample.appID, environment: .production, firebaseKeys: .none,
                    reachesBothEnvironments: bothEnvironments)
            ])
    }

    /// Accepts in these environments and refuses in the others.
    private static func accepting(_ environments: Set<PushEnvironment>) -> ScriptedSender.Script {
        { push, _ in
            push.route.channel.environment.map(environments.contains) == true ? .accepted : .rejected(.badDeviceToken)
        }
    }

    @Test func suspectsAreMarkedAndTheProvenAreNot() async throws {
        try await Rig().run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(2)
            #expect(rig.sender.pushes.map(\.isProven) == [false, true])
            #expect(try await rig.store.registration(1)?.isProven == true)
        }
    }

    @Test func aTokenOfTheOtherEnvironmentIsFoundWithTheSamePush() async throws {
        let rig = Rig(project: Self.project(), script: Self.accepting([.sandbox]))
        try await rig.run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            #expect(rig.sender.pushes.map(\.route.channel.environment) == [.production, .sandbox])
            #expect(Set(rig.sender.pushes.map(\.id)).count == 1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .accepted && entry.history.attempts == 2)
            let registration = try await rig.store.registration(1)
            #expect(registration?.environment == .sandbox && registration?.isProven == true)
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(2)
            #expect(rig.sender.pushes.map(\.route.channel.environment) == [.production, .sandbox, .sandbox])
        }
    }

    @Test(arguments: [true, false])
    func aTokenThatIsRefusedEverywhereIsQuarantinedAndNotProbedAgain(bothEnvironments: Bool) async throws {
        let rig = Rig(
            project: Self.project(bothEnvironments: bothEnvironments), script: Self.accepting([]))
        try await rig.run { rig in
            let message = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            let entry = try #require(await rig.store.entries(of: message.id).first)
            #expect(entry.outcome == .rejected && entry.reason == "BadDeviceToken")
            let registration = try await rig.store.registration(1)
            #expect(registration?.quarantine?.reason == "BadDeviceToken")
            #expect(registration?.isActive == true && registration?.environment == .production)
            let sent = rig.sender.pushes.count
            #expect(sent == (bothEnvironments ? 2 : 1))
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(2)
            #expect(rig.sender.pushes.count == sent + 1)
        }
    }

    @Test func aProvenTokenIsQuarantinedOnTheSecondOccasion() async throws {
        let rig = Rig(project: Self.project(), script: Self.accepting([]))
        var registration = Sample.registration(1)
        registration.provenAt = Sample.start
        try await rig.store.add(registration)
        try await rig.run { rig in
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(1)
            let once = try await rig.store.registration(1)
            #expect(once?.isProven == false && once?.quarantine == nil)
            _ = try await rig.accept(to: 1)
            await rig.store.untilEnded(2)
            #expect(try await rig.store.registration(1)?.quarantine != nil)
            #expect(rig.sender.pushes.map(\.isProven) == [true, false, false, false])
        }
    }

    @Test func aBroadcastProbesEachTokenOnce() async throws {
        let rig = Rig(
            project: Self.project(),
            script: { push, _ in
                let isSandbox = (push.deviceToken.bytes.last ?? 0) % 2 == 0
                return push.route.channel.environment == (isSandbox ? .sandbox : .production)
                    ? .accepted : .rejected(.badDeviceToken)
            })
        try await rig.subscribe(200)
        try await rig.run { rig in
            let message = try await rig.acceptTopic()
            await rig.store.until { $0.books[message.id]?.isComplete == true }
            #expect(await rig.store.books[message.id]?.ended == [.accepted: 200])
            #expect(rig.sender.pushes.count == 300)
            #expect(Set(rig.sender.pushes.map(\.id)).count == 200)
            var sandboxes = 0
            for number in 1...200 as ClosedRange<Int64> {
                if try await rig.store.registration(number)?.environment == .sandbox { sandboxes += 1 }
            }
            #expect(sandboxes == 100)
        }
    }
}
