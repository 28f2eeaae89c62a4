import HTTPTypes
import InMemoryTracing
import Testing
import Traces
import Tracing

@testable import GatewayAPI

/// What traces say of requests for hosts of links.
@Suite(.timeLimit(.minutes(5)))
struct LinkSpanTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let caller = "b7ad6b7169203331"
    private let memory = InMemoryTracer()

    private func gateway(share: Double = 0) async throws -> LinkGateway {
        try await LinkGateway(tracer: StepTracer(memory, sampler: TraceSampler(share: share)))
    }

    @Test func aCallersTraceGoesOnAndNothingPersonalIsInIt() async throws {
        let gateway = try await gateway(share: 1)
        let header = "00-\(Self.trace)-\(Self.caller)-01"
        let link = try await gateway.shorten("\(LinkGateway.prefix)/?link=https%3A%2F%2Fa.example%2Fsecret")
        let answer = try await gateway.open(
            link + "?user=ada", .iPhone, headers: [.traceParent: header, .traceState: "vendor=one"])
        #expect(answer.status < 400)
        let spans = memory.finishedSpans.filter { $0.operationName == "GET links" }
        let span = try #require(spans.first)
        #expect(spans.count == 1 && span.kind == .server)
        let (parent, own) = (try #require(span.context.span), try #require(span.context.own))
        #expect(parent.traceID.text == Self.trace && parent.spanID.text == Self.caller)
        #expect(own.traceID == parent.traceID && own.spanID != parent.spanID && own.state == "vendor=one")
        #expect(span.attributes.get("http.route") == .string("links"))
        #expect(span.attributes.get("http.request.method") == .string("GET"))
        #expect(span.attributes.get("server.address") == .string("go.example.com"))
        #expect(span.attributes.get("http.response.status_code") == .int64(Int64(answer.status)))
        #expect(span.attributes.count == 4)
    }

    /// Visitors have no say in what is recorded, although callers of the API have.
    @Test(arguments: [0, 1] as [Double])
    func chanceDecidesWhateverAVisitorSays(share: Double) async throws {
        let gateway = try await gateway(share: share)
        for flag in ["00", "01"] {
            let header = "00-\(Self.trace)-\(Self.caller)-\(flag)"
            _ = try await gateway.open("https://Go.Example.com:8443/none", headers: [.traceParent: header])
        }
        let spans = memory.finishedSpans
        #expect(spans.count == (share == 1 ? 2 : 0))
        #expect(spans.allSatisfy { $0.context.span?.spanID.text == Self.caller && $0.context.own?.isSampled == true })
        #expect(spans.allSatisfy { $0.attributes.get("server.address") == .string("go.example.com") })
    }

    @Test func chanceDecidesWhereNoCallerDoes() async throws {
        let gateway = try await gateway(share: 1)
        _ = try await gateway.open("https://go.example.com/none", method: .head)
        _ = try await gateway.open("https://preview.example.com/none")
        #expect(memory.finishedSpans.map(\.operationName) == ["HEAD links", "GET links preview"])
        #expect(memory.finishedSpans.allSatisfy { $0.status == nil })
        // The API's requests have one span, not two.
        _ = try await gateway.call(.get, "/v1/projects/demo/status")
        #expect(memory.finishedSpans.map(\.operationName).suffix(1) == ["GET /v1/projects/{project}/status"])
        #expect(memory.finishedSpans.count == 3)
    }
}
