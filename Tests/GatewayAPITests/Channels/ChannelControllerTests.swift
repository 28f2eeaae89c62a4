import Delivery
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// Two lists that may say different things of each other, and requests that overtake one another.
@Suite(.timeLimit(.minutes(5)))
struct ChannelControllerTests {
    private struct Rig {
        let gateway: TestGateway
        let service = ListedChannels()
        let controller: ChannelController
        let home = ChannelHome(
            project: ProjectID(rawValue: "demo")!, app: AppID(rawValue: "com.example.app")!, environment: .production)

        init() async throws {
            let gateway = try await TestGateway()
            self.gateway = gateway
            controller = ChannelController(
                store: gateway.store, service: service, wallTime: { gateway.clock.now },
                logger: gateway.services.logger)
        }

        @discardableResult
        func create(
            _ name: String, _ policy: StoragePolicy = .mostRecent, adopting id: ChannelID? = nil
        ) async throws -> BroadcastChannel {
            let made = try await controller.create(Self.name(name), in: home, policy, adopting: id) { _ in nil }
            gateway.clock.advance(by: .seconds(1))
            return made.channel
        }

        func delete(_ name: String) async throws -> Bool {
            try await controller.delete(Self.name(name), in: home, audit: nil)
        }

        func channel(_ name: String) async throws -> BroadcastChannel? {
            try await gateway.store.channel(Self.name(name), in: home)
        }

        func forget(_ channel: BroadcastChannel) { service.forget(channel.id?.rawValue ?? "") }

        static func name(_ text: String) -> ChannelName { ChannelName(rawValue: text)! }
    }

    /// There is time then to delete those of what is over.
    @Test(arguments: [(8999, false), (9000, true)])
    func anAppWithNearlyAsManyChannelsAsItMayHaveIsTold(count: Int, isTold: Bool) async throws {
        let rig = try await Rig()
        let collector = LogCollector()
        let controller = ChannelController(
            store: rig.gateway.store, service: rig.service, wallTime: { rig.gateway.clock.now },
            logger: collector.logger)
        let ids = try (0..<count).map { try #require(ChannelID(rawValue: "other+/\($0)==")) }
        rig.service.state.withLock { state in state.channels = ids.map { ($0, .mostRecent) } }
        #expect(try await controller.reconcile(rig.home).count == count)
        #expect(collector.lines.contains { $0.contains("nearly as many channels as it may have") } == isTold)
    }

    @Test func aListThatLacksAChannelWhichIsThereLosesNothing() async throws {
        let rig = try await Rig()
        let channel = try await rig.create("a")
        rig.service.state.withLock { $0.unlisted = Set([channel.id].compactMap { $0 }) }
        #expect(try await rig.controller.reconcile(rig.home).lost == [])
        #expect(try await rig.channel("a")?.state == .active)
        rig.forget(channel)
        #expect(try await rig.controller.reconcile(rig.home).lost == [channel.name])
    }

    @Test func aListOfAnotherServiceLosesNothing() async throws {
        let rig = try await Rig()
        for number in 1...7 { try await rig.create("m\(number)") }
        let channels = rig.service.state.withLock { state in
            defer { state.channels = [] }
            return state.channels
        }
        #expect(try await rig.controller.reconcile(rig.home).lost == [])
        #expect(try await rig.channel("m1")?.state == .active)
        // Three of seven may well have gone.
        rig.service.state.withLock { $0.channels = Array(channels.dropFirst(3)) }
        #expect(try await rig.controller.reconcile(rig.home).lost.count == 3)
    }

    @Test func anIDThatHasANameIsNotTakenOverAndNothingOfTheWishStays() async throws {
        let rig = try await Rig()
        let first = try await rig.create("a")
        do {
            try await rig.create("b", adopting: first.id)
            Issue.record("it was taken over")
        } catch ChannelProblem.idTaken(let id, let name) {
            #expect(id == first.id && name == first.name)
        }
        #expect(try await rig.channel("b") == nil)
        #expect(try await rig.channel("a") == first)
        // Once it was lost here and is there again, it can be.
        rig.forget(first)
        _ = try await rig.controller.reconcile(rig.home)
        let id = try #require(first.id)
        rig.service.state.withLock { $0.channels.append((id, .mostRecent)) }
        #expect(try await rig.controller.reconcile(rig.home).unknown == [id])
        #expect(try await rig.create("b", adopting: id).state == .active)
    }

    @Test func aSlowDeletionLeavesTheNextChannelOfTheNameAlone() async throws {
        let rig = try await Rig()
        let first = try await rig.create("a")
        rig.service.state.withLock {
            $0.beforeDeletionIsAnswered = {
                do {
                    #expect(try await rig.delete("a"))
                    try await rig.create("a")
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(try await !rig.delete("a"))
        let second = try await rig.channel("a")
        #expect(second?.state == .active && second?.id != first.id)
    }

    @Test(arguments: [Refusal("InternalServerError", .load(.failure)), Refusal("ServiceUnavailable", .load(.service))])
    func whatAFailingServiceMayHaveMadeIsSeen(refusal: Refusal) async throws {
        let rig = try await Rig()
        rig.service.fail(ChannelFailure(.refused(refusal)), isDone: true)
        await #expect(throws: ChannelProblem.self) { try await rig.create("a") }
        #expect(try await rig.channel("a")?.state == .creating)
        #expect(try await rig.controller.reconcile(rig.home).unknown.count == 1)
    }

    @Test func anAppThatCannotBeAskedKeepsNoOtherFromBeingLookedAt() async throws {
        let rig = try await Rig()
        let other = ChannelHome(project: rig.home.project, app: rig.home.app, environment: .sandbox)
        try await rig.create("a")
        let lost = try await rig.controller.create(Rig.name("a"), in: other, .none) { _ in nil }.channel
        rig.gateway.clock.advance(by: .seconds(1))
        rig.forget(lost)
        rig.service.fail(ChannelFailure(.refused(Refusal("FeatureNotEnabled", .topic))))
        let watch = ChannelWatch(
            rig.controller, store: rig.gateway.store, projects: rig.gateway.services.request.projects,
            clock: TestClock(), logger: rig.gateway.services.logger)
        await watch.look()
        let known = try await rig.gateway.store.channel(lost.name, in: other)
        #expect(known?.id == lost.id && known?.state != .active)
    }
}
