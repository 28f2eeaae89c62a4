import Foundation
import Logging
import PushModel
import ServiceLifecycle
import Simulators
import TestSupport
import Testing
import Traces
import Tracing

@testable import herald

/// Spans of a whole gateway, as OpenTelemetry's own library reads them.
@Suite(.timeLimit(.minutes(5)), .enabled(Python.tracing.expectation, { try await Python.tracing.isFound() }))
struct TracingGatewayTests {
    private static let send = "/v1/projects/demo/messages:send"
    private static let route = "POST /v1/projects/{project}/messages:send"
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let caller = "b7ad6b7169203331"

    /// Runs `body` with a gateway that traces what callers ask for, and nothing else; the spans that it left.
    private static func spans(
        _ environment: [String: String] = [:],
        of body: (GatewayUnderTest, GatewayProcess) async throws -> Void
    ) async throws -> [TraceCollector.Span] {
        let collector = try await TraceCollector.start()
        try await GatewayUnderTest.with(
            settings: "tracing:\n  endpoint: \(collector.url)\n  sample: 0"
        ) { test in
            let process = try await test.start(environment: environment)
            try await body(test, process)
            #expect(await process.end(with: SIGTERM) == 0)
        }
        let spans = try await collector.spans()
        #expect(!collector.lines.contains { $0.hasPrefix("broken") }, "\(collector.lines)")
        await collector.end()
        return spans
    }

    /// Sends a message and waits for its outcome.
    private static func post(
        _ client: APIClient, _ body: String, parent: String? = nil, state: String? = nil
    ) async throws -> APIClient.Answer {
        var headers = ["prefer": "wait=25"]
        headers["traceparent"] = parent
        headers["tracestate"] = state
        return try await client.post(send, body, headers: headers)
    }

    @Test func aMessageIsFollowedFromItsCallerToItsSettlement() async throws {
        let spans = try await Self.spans { test, process in
            let token = try await APIClient(baseURL: process.baseURL, key: test.keys.client)
                .register(deviceToken: "a1".deviceToken)
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let body = #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#
            let traced = try await Self.post(
                sender, body, parent: "00-\(Self.trace)-\(Self.caller)-01", state: "vendor=one")
            #expect(traced.status == 200)
            // Neither what its caller leaves out nor, with a share of 0, what has no caller.
            #expect(try await Self.post(sender, body, parent: "00-\(Self.trace)-\(Self.caller)-00").status == 200)
            #expect(try await Self.post(sender, body).status == 200)
        }
        #expect(spans.map(\.name).sorted() == [Self.route, "accept", "claim", "send", "settle"])
        func span(_ name: String) throws -> TraceCollector.Span {
            try #require(spans.first { $0.name.hasPrefix(name) })
        }
        let (request, accept, claim) = (try span("POST"), try span("accept"), try span("claim"))
        let (sent, settle) = (try span("send"), try span("settle"))
        #expect([request.trace, request.parent, request.state] == [Self.trace, Self.caller, "vendor=one"])
        #expect([request, accept, claim, sent, settle].map(\.kind) == [2, 4, 5, 3, 5])
        #expect(request.leads(to: accept) && accept.leads(to: request))
        #expect(accept.links.first?.state == "vendor=one")
        #expect(claim.leads(to: accept) && sent.leads(to: accept) && settle.leads(to: accept))
        #expect(sent.leads(to: claim) && settle.leads(to: sent))
        #expect(Set([accept, claim, sent, settle].map(\.trace)).count == 1)
        #expect([accept, claim, sent, settle].allSatisfy { $0.parent.isEmpty && $0.status == 0 })
        #expect(Set(spans.map(\.service)) == ["herald"])
        let message = try #require(accept.attributes["messaging.message.id"])
        #expect([request, claim, sent, settle].allSatisfy { $0.attributes["messaging.message.id"] == message })
    }

    @Test func aBroadcastHasASpanForAPageAndNoneForAPush() async throws {
        let spans = try await Self.spans(["HERALD_LIMITS_PAGE_SIZE": "20"]) { test, process in
            let client = APIClient(baseURL: process.baseURL, key: test.keys.admin)
            let devices = (1...50).map { "\"\(String($0, radix: 16).deviceToken)\"" }.joined(separator: ",")
            let imported = try await client.post(
                "/iid/v1:batchImport",
                #"{"application":"com.example.app","sandbox":false,"apns_tokens":[\#(devices)]}"#)
            let results = try #require(try imported.json["results"] as? [[String: Any]])
            let tokens = results.compactMap { $0["registration_token"] as? String }.map { "\"\($0)\"" }
            #expect(tokens.count == 50)
            let added = try await client.post(
                "/iid/v1:batchAdd",
                #"{"to":"/topics/news","registration_tokens":[\#(tokens.joined(separator: ","))]}"#)
            #expect(added.status == 200)
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let answer = try await Self.post(
                sender, #"{"message":{"topic":"news","notification":{"title":"Hi"}}}"#,
                parent: "00-\(Self.trace)-\(Self.caller)-01")
            let name = try #require(try answer.json["name"] as? String)
            _ = try await WholeGatewayTests.completeReport(name, process, test.keys)
            let topic = #"herald_topic_deliveries_total{outcome="accepted",project="demo",topic="news"} 50"#
            let app = #"herald_app_deliveries_total{app="com.example.app",outcome="accepted",project="demo"} 50"#
            var metrics = ""
            // They are counted right after the commit that the report shows.
            while !metrics.contains(topic) || !metrics.contains(app) { metrics = try await client.get("/metrics").text }
            #expect(metrics.contains("\nherald_trace_queue_limit 2048\n"))
        }
        let pages = spans.filter { $0.name == "claim" }
        #expect(pages.count >= 3 && pages.count < 10, "\(pages.count)")
        #expect(spans.count { $0.name == "send" } < 10)
        let pushes = spans.filter { $0.name == "send" }.compactMap { $0.attributes["herald.pushes"] }
        let sum = pushes.reduce(0) { if case .number(let count) = $1 { $0 + count } else { $0 } }
        #expect(sum == 50)
        #expect(Set(spans.filter { $0.name != Self.route }.map(\.trace)).count == 1)
    }

    @Test func whatFailsIsRecordedWhoeverDecided() async throws {
        let spans = try await Self.spans { test, process in
            let device = "b2".deviceToken
            test.simulator.rules.set(Rule(.reject(status: 400, reason: "PayloadTooLarge")), for: device)
            let token = try await APIClient(baseURL: process.baseURL, key: test.keys.client)
                .register(deviceToken: "b2")
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let answer = try await Self.post(
                sender, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#,
                parent: "00-\(Self.trace)-\(Self.caller)-00")
            #expect(answer.status >= 400)
        }
        let settle = try #require(spans.first { $0.name == "settle" })
        #expect(settle.status == 2)
        #expect(settle.message == "rejected PayloadTooLarge")
        #expect(settle.attributes["error.type"] == .text("PayloadTooLarge"))
        #expect(!spans.contains { $0.name == "accept" })
    }

    @Test func aCollectorThatIsBusyGetsTheBatchAgain() async throws {
        let collector = try await TraceCollector.start("--once-unavailable", "--reject-one")
        let (queue, exporter) = try Self.exporter(to: collector.url)
        Self.record(SpanQueue.batchSize, in: queue)
        let group = ServiceGroup(services: [exporter], logger: Self.silent)
        async let running: Void = group.run()
        #expect(await collector.line(containing: "refused 503") != nil)
        #expect(await collector.line(containing: "taken 512") != nil)
        // Less than a batch waits for the end.
        Self.record(3, in: queue)
        await group.triggerGracefulShutdown()
        try await running
        let counts = queue.counts
        #expect(counts.waiting == 0 && counts.lost[.unreachable] == nil)
        // Of each request the collector wants all but one.
        #expect(counts.lost[.refused] == 2 && counts.exported == 513)
        #expect(try await collector.spans().count >= 515)
        await collector.end()
    }

    @Test func aCollectorThatStallsWithinItsAnswerGetsTheBatchAgain() async throws {
        let collector = try await TraceCollector.start("--once-stalled")
        let (queue, made) = try Self.exporter(to: collector.url)
        var exporter = made
        exporter.requestLimit = .seconds(1)
        Self.record(SpanQueue.batchSize, in: queue)
        let group = ServiceGroup(services: [exporter], logger: Self.silent)
        async let running: Void = group.run()
        #expect(await collector.line(containing: "stalled") != nil)
        #expect(await collector.line(containing: "taken 512") != nil)
        await group.triggerGracefulShutdown()
        try await running
        #expect(queue.counts.exported == SpanQueue.batchSize)
        await collector.end()
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// What sends to a collector.
    private static func exporter(to url: String) throws -> (SpanQueue, SpanExporter) {
        let queue = SpanQueue()
        var exporter = SpanExporter(
            queue: queue, url: url + "/v1/traces", headers: [],
            document: SpanDocument(resource: [("service.name", "test")]), clock: ContinuousClock(),
            wallTime: Timestamp.systemTime, logger: silent)
        exporter.endLimit = .longerThanAnyTest
        return (queue, exporter)
    }

    private static func record(_ count: Int, in queue: SpanQueue) {
        let tracer = QueueTracer(queue: queue)
        for number in 0..<count {
            let span = tracer.startSpan("step", context: .topLevel)
            span.attributes["number"] = number
            span.end()
        }
    }
}
