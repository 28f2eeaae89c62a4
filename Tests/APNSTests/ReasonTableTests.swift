import PushModel
import TestSupport
import Testing

@testable import APNS

struct ReasonTableTests {
    /// apns.md §5 a second time: status, reason, what it is about.
    static let rows: [(Int, String, Refusal.Scope)] = [
        (400, "BadCollapseId", .push(.header("apns-collapse-id"))), (400, "BadDeviceToken", .addressDoubtful),
        (400, "BadExpirationDate", .push(.header("apns-expiration"))),
        (400, "BadMessageId", .push(.header("apns-id"))), (400, "BadPriority", .push(.header("apns-priority"))),
        (400, "InvalidPushType", .push(.header("apns-push-type"))), (400, "DuplicateHeaders", .push(.unspecified)),
        (400, "PayloadEmpty", .push(.payload)), (400, "MissingDeviceToken", .push(.address)),
        (400, "BadTopic", .topic), (400, "MissingTopic", .topic), (400, "TopicDisallowed", .topic),
        (400, "DeviceTokenNotForTopic", .push(.address)), (400, "IdleTimeout", .connection(.idle)),
        // apns-channels.md §3.
        (400, "MissingChannelId", .push(.request)), (400, "BadChannelId", .addressDead(since: nil)),
        (400, "ChannelNotRegistered", .addressDead(since: nil)), (400, "BadRequestParams", .push(.request)),
        (400, "BadRequestPayload", .push(.payload)), (400, "MissingPushType", .push(.header("apns-push-type"))),
        (400, "FeatureNotEnabled", .topic), (400, "CannotCreateChannelConfig", .load(.unspecified)),
        (403, "TopicMismatch", .topic),
        (403, "BadCertificate", .credential), (403, "BadCertificateEnvironment", .credential),
        (403, "Forbidden", .credential), (403, "ExpiredProviderToken", .connection(.tokenExpired)),
        (403, "InvalidProviderToken", .connection(.credential)), (403, "MissingProviderToken", .credential),
        (403, "UnrelatedKeyIdInToken", .connection(.credential)), (403, "BadEnvironmentKeyIdInToken", .credential),
        (403, "BadEnvironmentKeyInToken", .credential), (404, "BadPath", .push(.request)),
        (405, "MethodNotAllowed", .push(.request)), (410, "Unregistered", .addressDead(since: nil)),
        (410, "ExpiredToken", .addressDead(since: nil)), (413, "PayloadTooLarge", .push(.payloadSize)),
        (429, "TooManyProviderTokenUpdates", .connection(.tokenUpdates)), (429, "TooManyRequests", .load(.address)),
        (500, "InternalServerError", .load(.failure)), (503, "ServiceUnavailable", .load(.service)),
        (503, "Service Unavailable", .load(.service)), (503, "Shutdown", .connection(.closing)),
    ]

    @Test(arguments: rows)
    func `Each reason has its scope, meaning and label`(status: Int, name: String, scope: Refusal.Scope) throws {
        let reason = Reason(rawValue: name)
        let row = try #require(APNSReasonTable.rows.first { $0.refusals.contains { $0.reason == reason } })
        let entry = try #require(APNSReasonTable.catalog[name])
        #expect(row.status == status)
        #expect(entry.meaning.hasSuffix("."))
        #expect(entry.refusal.scope == scope)
        let refusal = Refusal.apns(status, name)
        #expect(refusal == entry.refusal)
        #expect(refusal.reason == reason && refusal.label == row.reason.rawValue)
        #expect(APNSReasonTable.catalog.label(of: name) == row.reason.rawValue)
    }

    @Test func `The table has no other rows`() {
        let spellings = APNSReasonTable.rows.flatMap { $0.refusals.map(\.reason.rawValue) }
        #expect(Set(spellings) == Set(Self.rows.map(\.1)))
        #expect(spellings.count == Set(spellings).count)
    }

    @Test(
        arguments: [
            (400, .push(.unspecified)), (403, .credential), (404, .push(.request)), (405, .push(.request)),
            (410, .addressDead(since: nil)), (418, .push(.unspecified)), (429, .load(.unspecified)),
            (500, .load(.failure)), (503, .load(.failure)), (599, .load(.failure)),
            (302, .connection(.misdirected)),
        ] as [(Int, Refusal.Scope)])
    func `A reason that is not in the table is classified by its status`(status: Int, scope: Refusal.Scope) {
        let refusal = Refusal.apns(status, "OfTheFuture")
        #expect(refusal == Refusal("OfTheFuture", scope, label: "other"))
        #expect(APNSReasonTable.catalog["OfTheFuture"] == nil)
        #expect(APNSReasonTable.catalog.label(of: "OfTheFuture") == "other")
    }

    @Test(arguments: [
        (410, "Unregistered", "Unregistered"), (413, "PayloadTooLarge", "PayloadTooLarge"),
        (429, "TooManyRequests", "TooManyRequests"), (403, "Forbidden", "Forbidden"),
        (500, "InternalServerError", "InternalServerError"), (503, "ServiceUnavailable", "ServiceUnavailable"),
        (502, "HTTP502", "other"), (400, "HTTP400", "other"),
    ])
    func `An answer without a reason gets the closest name`(status: Int, name: String, label: String) {
        let refusal = Refusal.apns(status, nil)
        #expect(refusal.reason.rawValue == name)
        #expect(refusal.label == label)
    }

    @Test func `A dead address comes with its time, whatever reason a 410 gives`() {
        let time = Timestamp(seconds: 1_700_000_000)
        for reason in ["Unregistered", "New", "Forbidden"] as [Reason] {
            let refusal = Refusal(apnsStatus: 410, reason: reason, timestamp: time)
            #expect(refusal.scope == .addressDead(since: time) && refusal.reason == reason)
        }
        #expect(Refusal(apnsStatus: 400, reason: "New", timestamp: time).scope == .push(.unspecified))
    }

    @Test func `The samples of other tests are the table's`() {
        for row in APNSReasonTable.rows {
            for refusal in row.refusals {
                guard let sample = RefusalCatalog.sample[refusal.reason]?.refusal else { continue }
                #expect(sample == refusal)
            }
        }
    }
}
