import InMemoryTracing
import PushModel
import Testing
import Traces
import Tracing

/// What is recorded of requests and of the steps of their messages.
struct StepTracerTests {
    private let memory = InMemoryTracer()
    private let parent = SpanContext(
        traceID: TraceID(high: 1, low: 2)!, spanID: SpanID(rawValue: 3)!, isSampled: true, state: "a=b")

    private func tracer(share: Double = 0) -> StepTracer {
        StepTracer(memory, sampler: TraceSampler(share: share))
    }

    private static func message(_ number: Int) -> MessageID {
        MessageID(rawValue: "0:18000000000000\(number)-777")!
    }

    @Test func aStepLinksToTheAcceptsOfItsMessagesAndToWhatCameBefore() throws {
        let messages = (10..<13).map(Self.message)
        let context = tracer().record(
            .settle, of: messages, from: tracer().now, links: [parent], ["herald.results": 7])
        let span = try #require(memory.finishedSpans.first)
        #expect(span.operationName == "settle" && span.kind == .consumer)
        #expect(span.links.compactMap(\.context.span) == messages.map(\.acceptContext) + [parent])
        #expect(span.attributes.get("herald.results") == .int64(7))
        #expect(span.status == nil)
        #expect(!messages.map(\.acceptContext.traceID).contains(context.traceID))
    }

    @Test func aStepOfOneMessageIsInItsTrace() throws {
        let message = Self.message(10)
        #expect(tracer().context(of: [message]).traceID == message.acceptContext.traceID)
        #expect(tracer().context(of: [message]).spanID != tracer().context(of: [message]).spanID)
        tracer().record(.accept, of: [message], as: message.acceptContext, from: tracer().now)
        let span = try #require(memory.finishedSpans.first)
        #expect(span.links.isEmpty && span.kind == .producer)
        #expect(span.attributes.get("messaging.message.id") == .string(message.rawValue))
    }

    @Test func linksAreBounded() throws {
        tracer().record(.send, of: (100..<400).map(Self.message), from: tracer().now, links: [parent])
        #expect(try #require(memory.finishedSpans.first).links.count == StepTracer.linkLimit)
    }

    @Test func aFailureIsAStatus() throws {
        tracer().record(.claim, of: [], from: tracer().now, failure: "the disk is full")
        #expect(
            try #require(memory.finishedSpans.first).status == SpanStatus(code: .error, message: "the disk is full"))
    }

    @Test(
        arguments: [
            (true, 200, false, true), (true, 503, false, true), (false, 200, false, false), (false, 500, false, true),
            (nil, 200, false, false), (nil, 404, false, false), (nil, 503, false, true), (nil, 200, true, true),
        ] as [(Bool?, Int, Bool, Bool)])
    func aRequestIsRecordedForItsCallerItsMessagesOrItsFailure(
        _ isSampled: Bool?, _ status: Int, _ hasMessage: Bool, _ isRecorded: Bool
    ) throws {
        var caller = parent
        caller.isSampled = isSampled ?? false
        let request = tracer().request(of: isSampled == nil ? nil : caller)
        if hasMessage { request.note(Self.message(10)) }
        tracer().record(request, name: "POST /x", status: status, isSend: true, [:])
        #expect(memory.finishedSpans.count == (isRecorded ? 1 : 0))
        guard let span = memory.finishedSpans.first else { return }
        #expect(span.kind == .server && (span.status?.code == .error) == (status >= 500))
        #expect(span.links.count == (hasMessage ? 1 : 0))
        if isSampled != nil { #expect(request.context.traceID == parent.traceID && request.context.state == "a=b") }
    }

    @Test func requestsWithoutMessagesAreRecordedByChance() {
        tracer(share: 1).record(tracer().request(of: nil), name: "GET /x", status: 200, isSend: false, [:])
        tracer(share: 1).record(tracer().request(of: nil), name: "GET /healthz", status: 200, isSend: true, [:])
        #expect(memory.finishedSpans.map(\.operationName) == ["GET /x"])
    }
}
