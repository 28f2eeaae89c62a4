import PushModel
import Testing
import Traces

/// `traceparent` and `tracestate`, and what follows from a message's id.
struct SpanContextTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func theParentOfTheSpecificationIsReadAndWritten() throws {
        let context = try #require(SpanContext(parents: [Self.parent], states: ["rojo=00f067aa0ba902b7"]))
        #expect(context.traceID.text == "0af7651916cd43dd8448eb211c80319c")
        #expect(context.spanID.text == "b7ad6b7169203331")
        #expect(context.isSampled)
        #expect(context.state == "rojo=00f067aa0ba902b7")
        #expect(context.parent == Self.parent)
    }

    @Test func aLaterVersionIsReadAsFarAsItIsKnown() throws {
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-what-the-future-has"
        #expect(try #require(SpanContext(parents: [later], states: [])).isSampled == false)
    }

    @Test(arguments: [
        "", "00", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ])
    func whatIsNoParentIsNone(_ text: String) {
        #expect(SpanContext(parents: [text], states: []) == nil)
    }

    @Test func twoParentsAreNone() {
        #expect(SpanContext(parents: [Self.parent, Self.parent], states: []) == nil)
        #expect(SpanContext(parents: [], states: ["a=b"]) == nil)
    }

    @Test(arguments: [
        (["a=1", "b=2"], "a=1,b=2"), (["a=1, b=2"], "a=1, b=2"), (["nothing"], ""), (["a=\u{1}"], ""),
        ([(0..<33).map { "k\($0)=v" }.joined(separator: ",")], ""), ([String(repeating: "a", count: 511) + "=b"], ""),
    ])
    func aStateIsPassedOnWhereItIsSound(_ states: [String], _ expected: String) throws {
        #expect(try #require(SpanContext(parents: [Self.parent], states: states)).state == expected)
    }

    @Test(arguments: [false, true], [0, 1, 0x777, 776, 777, 0xffff_ffff_ffff_f777, UInt64.max, UInt64.max - 1000])
    func theIdOfAMessageSaysWhetherItIsTraced(_ isNumbered: Bool, _ random: UInt64) {
        for isTraced in [true, false] {
            let marked = TraceMark.marked(random, isTraced: isTraced, isNumbered: isNumbered)
            let id =
                isNumbered
                ? MessageID(number: marked) : MessageID(acceptedAt: Timestamp(seconds: 1_800_000_000), random: marked)
            #expect(id.isTraced == isTraced, "\(id)")
        }
    }

    @Test func messagesHaveTracesOfTheirOwnThatStayTheSame() throws {
        let ids = try (0..<1000).map { try #require(MessageID(rawValue: "0:1800000000000000-\($0)777")) }
        #expect(Set(ids.map(\.acceptContext.traceID)).count == 1000)
        #expect(Set(ids.map(\.acceptContext.spanID)).count == 1000)
        #expect(ids[0].acceptContext == MessageID(rawValue: ids[0].rawValue)?.acceptContext)
        // As every earlier and later version has it: messages outlive a gateway.
        #expect(ids[0].acceptContext.parent == "00-73564a1363730d44a7fe97cccbd2668b-b668b1077dbe7a9d-01")
    }
}

/// Which traces are recorded.
struct TraceSamplerTests {
    private let sampled = SpanContext(
        traceID: TraceID(high: 1, low: 2)!, spanID: SpanID(rawValue: 3)!, isSampled: true)

    @Test func theCallerDecidesWhereItSaysSomething() {
        let sampler = TraceSampler(share: 0.5)
        var other = sampled
        other.isSampled = false
        #expect(sampler.samples(sampled, random: 0.9))
        #expect(!sampler.samples(other, random: 0.1))
        #expect(sampler.samples(nil, random: 0.4))
        #expect(!sampler.samples(nil, random: 0.5))
        #expect(TraceSampler(share: 1, followsParent: false).samples(other, random: 0.9))
    }

    @Test func theWholeAndNothingAreExact() {
        #expect(TraceSampler(share: 1).samples(nil, random: 0.999_999))
        #expect(!TraceSampler(share: 0).samples(nil, random: 0))
    }
}
