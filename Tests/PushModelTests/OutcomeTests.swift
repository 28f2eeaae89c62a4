import PushModel
import Testing

struct OutcomeTests {
    /// apns.md §5 a second time: status, reason, actions, whether the push is refused for good.
    static let rows: [(Int, String, Set<APNSAction>, Bool)] = [
        (400, "BadCollapseId", [.failMessage], true), (400, "BadDeviceToken", [.failMessage], true),
        (400, "BadExpirationDate", [.failMessage], true), (400, "BadMessageId", [.failMessage], true),
        (400, "BadPriority", [.failMessage], true), (400, "InvalidPushType", [.failMessage], true),
        (400, "DuplicateHeaders", [.failMessage], true), (400, "PayloadEmpty", [.failMessage], true),
        (400, "MissingDeviceToken", [.failMessage], true), (400, "BadTopic", [.failMessage, .pauseLane], true),
        (400, "MissingTopic", [.failMessage, .pauseLane], true),
        (400, "TopicDisallowed", [.failMessage, .pauseLane], true),
        (400, "DeviceTokenNotForTopic", [.failMessage], true), (400, "IdleTimeout", [.otherConnection], false),
        (403, "BadCertificate", [.pauseLane], false), (403, "BadCertificateEnvironment", [.pauseLane], false),
        (403, "Forbidden", [.pauseLane], false),
        (403, "ExpiredProviderToken", [.renewToken, .otherConnection], false),
        (403, "InvalidProviderToken", [.otherConnection, .pauseLane], false),
        (403, "MissingProviderToken", [.pauseLane], false), (403, "UnrelatedKeyIdInToken", [.otherConnection], false),
        (403, "BadEnvironmentKeyIdInToken", [.pauseLane], false),
        (403, "BadEnvironmentKeyInToken", [.pauseLane], false), (404, "BadPath", [.failMessage], true),
        (405, "MethodNotAllowed", [.failMessage], true), (410, "Unregistered", [.dropRegistration], true),
        (410, "ExpiredToken", [.dropRegistration], true), (413, "PayloadTooLarge", [.failMessage], true),
        (429, "TooManyProviderTokenUpdates", [.otherConnection], false), (429, "TooManyRequests", [.backOff], false),
        (500, "InternalServerError", [.backOff], false), (503, "ServiceUnavailable", [.backOff], false),
        (503, "Service Unavailable", [.backOff], false), (503, "Shutdown", [.otherConnection], false),
    ]

    @Test(arguments: rows)
    func eachReasonHasItsActionAndOutcome(status: Int, name: String, actions: Set<APNSAction>, isFinal: Bool) throws {
        let reason = APNSReason(rawValue: name)
        let row = try #require(APNSReasonTable.row(of: reason))
        #expect(row.status == status)
        #expect(row.actions == actions)
        #expect(row.meaning.hasSuffix("."))
        let since = Timestamp(seconds: 1_700_000_000)
        let outcome = Outcome(status: status, reason: reason, timestamp: since, retryAfter: .seconds(7))
        #expect(outcome == (isFinal ? .rejected(reason, since: since) : .throttled(reason, after: .seconds(7))))
        #expect(outcome.reasonText == name)
        #expect(outcome.reasonLabel == row.reason.rawValue)
    }

    @Test func theTableHasNoOtherRows() {
        let spellings = APNSReasonTable.rows.flatMap { [$0.reason.rawValue] + $0.otherSpellings }
        #expect(Set(spellings) == Set(Self.rows.map(\.1)))
        #expect(spellings.count == Set(spellings).count)
    }

    @Test(arguments: [
        (400, true), (403, false), (404, true), (410, true), (418, true), (429, false), (500, false), (503, false),
        (599, false), (302, false),
    ])
    func anUnknownReasonIsClassifiedByItsStatus(status: Int, isFinal: Bool) {
        let reason = APNSReason(rawValue: "OfTheFuture")
        let outcome = Outcome(status: status, reason: reason)
        #expect(outcome == (isFinal ? .rejected(reason, since: nil) : .throttled(reason, after: nil)))
        #expect(outcome.reasonLabel == "other")
        #expect(outcome.reasonText == "OfTheFuture")
    }

    @Test(arguments: [
        (410, "Unregistered", true), (413, "PayloadTooLarge", true), (429, "TooManyRequests", false),
        (403, "Forbidden", false), (500, "InternalServerError", false), (503, "ServiceUnavailable", false),
        (502, "HTTP502", false), (400, "HTTP400", true),
    ])
    func anAnswerWithoutReasonGetsTheClosestName(status: Int, name: String, isFinal: Bool) {
        let reason = APNSReason(rawValue: name)
        #expect(
            Outcome(status: status, reason: nil)
                == (isFinal ? .rejected(reason, since: nil) : .throttled(reason, after: nil)))
    }

    @Test func labelsNameTheOutcome() {
        #expect(Outcome(status: 200, reason: nil) == .accepted)
        let outcomes: [(Outcome, String, String, String?)] = [
            (.accepted, "accepted", "", nil),
            (.rejected(.unregistered, since: nil), "rejected", "Unregistered", "Unregistered"),
            (.throttled(.shutdown, after: nil), "throttled", "Shutdown", "Shutdown"),
            (.notSent(.refused), "not_sent", "refused", "refused"),
            (.unknown(.timedOut), "unknown", "timed_out", "timed_out"),
        ]
        for (outcome, label, reasonLabel, reasonText) in outcomes {
            #expect(outcome.metricLabel == label)
            #expect(outcome.reasonLabel == reasonLabel)
            #expect(outcome.reasonText == reasonText)
        }
    }
}
