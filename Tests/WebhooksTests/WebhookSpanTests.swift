import InMemoryTracing
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing
import Traces
import Tracing

@testable import Webhooks

/// What traces say of requests to webhooks.
@Suite(.timeLimit(.minutes(2)))
struct WebhookSpanTests {
    private let memory = InMemoryTracer()

    private func services(_ scene: EndpointScene, share: Double = 0) -> WebhookServices {
        var services = scene.services
        services.tracer = StepTracer(memory, sampler: TraceSampler(share: share))
        return services
    }

    /// Accepts two messages, of which one is traced, and says which.
    private func acceptTwo(_ scene: EndpointScene) async throws -> MessageID {
        let topic = Recipient<RegistrationKey, [RegistrationKey]>.topic(Topic(rawValue: "empty")!)
        let messages = [false, true].map { isTraced in
            NewMessage(
                sampleFor: topic, in: EndpointScene.project, at: EndpointScene.start.milliseconds,
                number: TraceMark.marked(0x1234_5678, isTraced: isTraced, isNumbered: false))
        }
        #expect(messages.map(\.id.isTraced) == [false, true])
        _ = try await scene.store.accept(messages, claimedBy: nil)
        return messages[1].id
    }

    /// Sends what there is for an endpoint until so many requests were answered.
    private func send(_ count: Int, to endpoint: WebhookEndpoint, _ scene: EndpointScene, share: Double = 0) async {
        let store = HeldStore(scene.store)
        var services = services(scene, share: share)
        services.store = store
        let sender = Task { [services] in
            var sender = EndpointSender(endpoint, services, signal: WakeSignal())
            await sender.run()
        }
        await store.untilNoted(count)
        sender.cancel()
        await sender.value
    }

    @Test func aRequestOfATracedMessageIsASpanOfItsTraceAndCarriesIt() async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add(types: [.messageAccepted])
        let message = try await acceptTwo(scene)
        await send(2, to: endpoint, scene)
        #expect(memory.finishedSpans.count == 1)
        let span = try #require(memory.finishedSpans.first)
        #expect(span.operationName == "webhook" && span.kind == .client && span.status == nil)
        #expect(span.links.compactMap(\.context.span) == [message.acceptContext])
        #expect(span.attributes.get("http.response.status_code") == .int64(204))
        #expect(span.attributes.get("herald.webhook") == .string(endpoint.name))
        #expect(scene.receiver.sent.map { $0.trace != nil } == [false, true])
        let carried = try #require(SpanContext(parents: [scene.receiver.sent[1].trace ?? ""], states: []))
        #expect(carried.traceID == message.acceptContext.traceID && carried.isSampled)
        #expect(carried.spanID != message.acceptContext.spanID)
    }

    /// Each attempt is a span of its own, and says why it failed.
    @Test func aRequestThatFailsSaysWhy() async throws {
        let scene = try await EndpointScene { _ in WebhookAnswer(status: 500) }
        let endpoint = try await scene.add(types: [.messageAccepted]) { settings in
            settings.filter.labels = [AnalyticsLabel(rawValue: "spring")!]
        }
        let message = try await acceptTwo(scene)
        let event = try #require(try await scene.store.events(after: .zero, EventFilter(), limit: 9).events.last)
        let delivery = WebhookDelivery.event(event, report: nil, of: endpoint.id)
        #expect(delivery.traced == [message])
        for _ in 0..<2 { _ = await services(scene).send(delivery, to: endpoint) }
        let failed = SpanStatus(code: .error, message: "status")
        #expect(memory.finishedSpans.map(\.status) == [failed, failed])
        #expect(Set(scene.receiver.sent.map(\.trace)).count == 2)
    }

    /// What is about no message is traced as often as the sampler says; what is about others, never.
    @Test(arguments: [(0.0, 0), (1.0, 1)])
    func theSamplerDecidesWhereNoMessageDoes(share: Double, spans: Int) async throws {
        let scene = try await EndpointScene()
        let endpoint = try await scene.add()
        let test = WebhookDelivery.test(of: endpoint, number: 7, at: scene.now)
        _ = await services(scene, share: share).send(test, to: endpoint)
        var other = test
        other.isOfMessages = true
        _ = await services(scene, share: share).send(other, to: endpoint)
        #expect(memory.finishedSpans.count == spans)
        #expect(scene.receiver.sent.count { $0.trace != nil } == spans)
    }
}
