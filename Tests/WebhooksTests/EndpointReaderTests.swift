import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import Webhooks

/// How an endpoint's events are read, step by step.
@Suite(.timeLimit(.minutes(2)))
struct EndpointReaderTests {
    /// An endpoint that nothing is for: all messages have another label.
    private static func addBarren(_ scene: EndpointScene) async throws -> WebhookEndpoint {
        try await scene.add(types: [.messageAccepted]) { $0.filter.labels = [AnalyticsLabel(rawValue: "other")!] }
    }

    /// What is not for an endpoint is passed in steps of so many reads, each further than the one before.
    @Test func aStepHasABoundAndTheNextGoesOnBehindIt() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await Self.addBarren(scene)
        try await scene.accept(40)
        let store = HeldStore(scene.store)
        var reader = EndpointReader(endpoint, from: store)
        var passed: [EventNumber] = []
        while case .scanned = try await reader.next(at: scene.now) {
            #expect(reader.passed > passed.last ?? .zero)
            passed.append(reader.passed)
            #expect(store.summaries <= EndpointReader.readsPerStep * passed.count)
        }
        #expect(passed.count == 2 && store.summaries == 40)
        let newest = try await scene.store.events(after: .zero, EventFilter(), limit: 0).newest
        #expect(reader.passed == newest)
    }

    /// Its owner is heard between two steps, however much there is to read.
    @Test func anEndpointThatReadsAndFindsNothingIsDisabledAtOnce() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await Self.addBarren(scene)
        try await scene.accept(100)
        let store = HeldStore(scene.store, heldFrom: 1)
        var services = scene.services
        services.store = store
        let signal = WakeSignal()
        let sender = Task { [services] in
            var sender = EndpointSender(endpoint, services, signal: signal)
            await sender.run()
        }
        await store.untilHeld()
        try await scene.change(endpoint) { $0.state = .disabled }
        signal.raiseReload()
        store.release()
        await sender.value
        #expect(store.summaries > 0 && store.summaries <= EndpointReader.readsPerStep)
    }

    @Test func anAppIsKeptByItsPlatformWhereThatIsNamed() throws {
        let id = try #require(AppID(rawValue: "com.example.app"))
        func keeps(_ names: [String], _ app: AppKey) throws -> Bool {
            var filter = WebhookFilter()
            filter.apps = try names.map { try #require(NamedApp(text: $0)) }
            let click = Event(
                number: EventNumber(rawValue: 1), project: EndpointScene.project, time: EndpointScene.start,
                kind: .click(ClickEvent(app: app)))
            return EventSelection(endpoint: .random(), filter: filter).keeps(click)
        }
        let (apple, android) = (AppKey(.apple, id), AppKey(.android, id))
        #expect(try keeps([], apple) && keeps([], android))
        #expect(try keeps(["com.example.app"], apple) && keeps(["com.example.app"], android))
        #expect(try !keeps(["android:com.example.app"], apple) && keeps(["android:com.example.app"], android))
        #expect(try keeps(["web:com.example.app", "apple:com.example.app"], apple))
        #expect(try !keeps(["com.example.other"], apple))
    }

    @Test func whatTheFilterRulesOutIsNotAskedFor() {
        var filter = WebhookFilter()
        let types: [EventType] = [.deliveryAccepted, .deliveryRejected, .messageFinished, .lanePaused]
        let all = EventSelection(endpoint: .random(), filter: filter)
            .events(of: EndpointScene.project, among: types, replaying: nil)
        #expect(all.types == Set(types))
        filter.isOnlyFailures = true
        let selection = EventSelection(endpoint: .random(), filter: filter)
        let wanted = selection.events(of: EndpointScene.project, among: types, replaying: nil)
        #expect(wanted.types == [.deliveryRejected, .lanePaused] && wanted.project == EndpointScene.project)
        let replay = WebhookReplay(
            after: .zero, upTo: .zero, types: [.deliveryRejected, .messageFinished], isOnlyFailed: false)
        #expect(
            selection.events(of: EndpointScene.project, among: types, replaying: replay).types == [.deliveryRejected])
    }
}
