import PushModel
import TestSupport
import Testing

struct OutcomeTests {
    @Test(arguments: [
        (Refusal.badDeviceToken, true), (.payloadTooLarge, true), (.topicDisallowed, true), (.unregistered, true),
        (.new(), true), (.forbidden, false), (.invalidProviderToken, false), (.shutdown, false),
        (.tooManyRequests, false), (.serviceUnavailable, false),
    ])
    func aRefusalIsFinalByItsScope(refusal: Refusal, isFinal: Bool) {
        let outcome = Outcome(refusal, retryAfter: .seconds(7))
        #expect(outcome == (isFinal ? .rejected(refusal) : .throttled(refusal, after: .seconds(7))))
        #expect(outcome.refusal == refusal)
    }

    @Test func labelsNameTheOutcome() {
        let outcomes: [(Outcome, String, String)] = [
            (.accepted, "accepted", ""),
            (.rejected(.unregistered), "rejected", "Unregistered"),
            (.throttled(.shutdown, after: nil), "throttled", "Shutdown"),
            (.rejected(.new("OfTheFuture")), "rejected", "other"),
            (.notSent(.refused), "not_sent", "refused"),
            (.unknown(.timedOut), "unknown", "timed_out"),
        ]
        for (outcome, label, reasonLabel) in outcomes {
            #expect(outcome.metricLabel == label)
            #expect(outcome.reasonLabel == reasonLabel)
        }
    }

    @Test func aCatalogueOfTwoServicesKeepsTheFirstOfAWord() {
        let catalog = RefusalCatalog(
            [Refusal.forbidden, Refusal("Forbidden", .topic)].map { .init($0, meaning: "\($0.scope)") })
        #expect(catalog["Forbidden"]?.refusal == .forbidden)
        #expect(catalog.label(of: "Forbidden") == "Forbidden" && catalog.label(of: "New") == "other")
    }
}
