import Delivery
import HTTPTypes
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct DeliveryDataTests {
    private static func path(_ app: String = "com.example.app") -> String {
        "/v1beta1/projects/demo/androidApps/\(app)/deliveryData"
    }

    /// Three messages with a label, one without; of those with one, two are ended.
    private func makeHistory(_ gateway: TestGateway) async throws {
        let token = try await gateway.register().token
        for _ in 0..<3 {
            _ = try await gateway.send(
                #""token":"\#(token)""#,
                #""notification":{"title":"Hi"},"fcm_options":{"analytics_label":"spring"}"#)
        }
        let claimed = try await gateway.claim(.interactive)
        let time = gateway.clock.now
        let outcomes: [LedgerOutcome] = [.accepted, .expired]
        _ = try await gateway.store.settle(
            zip(claimed, outcomes).map { claim, outcome in
                Settlement(
                    delivery: claim,
                    result: .ended(
                        LedgerEntry(
                            outcome: outcome, reason: outcome == .accepted ? nil : "timed_out", verdict: nil,
                            history: AttemptHistory(attempts: 1), time: time, latencyMilliseconds: 5,
                            apnsID: APNSID(message: claim.message, registration: claim.registration.key))))
            }, by: gateway.worker)
        gateway.clock.advance(by: .seconds(86_400))
        _ = try await gateway.send(#""token":"\#(token)""#, #""data":{"a":"b"}"#)
    }

    @Test func daysHaveFCMsShapeAndExactFigures() async throws {
        let gateway = try await TestGateway()
        try await makeHistory(gateway)
        let newest =
            #"{"appId":"com.example.app","date":{"year":2026,"month":1,"day":3},"data":{"countMessagesAccepted":"1","#
            + #""countNotificationsAccepted":"0","messageOutcomePercents":{"pending":100.0,"droppedTtlExpired":0.0,"#
            + #""acceptedByProvider":0.0,"rejected":0.0,"cancelled":0.0},"ledger":{"recipients":1,"accepted":0,"#
            + #""rejected":0,"expired":0,"cancelled":0,"inFlight":1}}}"#
        let oldest =
            #"{"appId":"com.example.app","date":{"year":2026,"month":1,"day":2},"analyticsLabel":"spring","data":{"#
            + #""countMessagesAccepted":"3","countNotificationsAccepted":"3","messageOutcomePercents":{"#
            + #""pending":33.333332,"droppedTtlExpired":33.333332,"acceptedByProvider":33.333332,"rejected":0.0,"#
            + #""cancelled":0.0},"ledger":{"recipients":3,"accepted":1,"rejected":0,"expired":1,"cancelled":0,"#
            + #""inFlight":1}}}"#
        let all = try await gateway.request(.get, Self.path(), as: .sender)
        #expect(all.status == 200)
        #expect(all.text == #"{"androidDeliveryData":[\#(newest),\#(oldest)]}"#)
        let first = try await gateway.request(.get, Self.path() + "?pageSize=1")
        let token = try #require(try first.json["nextPageToken"]?.stringValue)
        let second = try await gateway.request(.get, Self.path() + "?page_size=1&page_token=\(token)")
        #expect(second.text == #"{"androidDeliveryData":[\#(oldest)]}"#)
    }

    @Test func anAppWithoutMessagesHasNoDays() async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, Self.path()).text == "{}")
        try await makeHistory(gateway)
        #expect(try await gateway.request(.get, Self.path("com.example.dev")).text == "{}")
        #expect(try await gateway.request(.get, Self.path("com.example.none")).status == 404)
    }

    @Test func aWrongQueryIsRefused() async throws {
        let gateway = try await TestGateway()
        for query in ["?pageSize=-1", "?pageSize=x", "?pageToken=x"] {
            let answer = try await gateway.request(.get, Self.path() + query)
            #expect(answer.status == 400)
            #expect(try answer.badFields == [query.hasPrefix("?pageSize") ? "page_size" : "page_token"])
        }
        #expect(try await gateway.request(.get, Self.path(), as: .client).status == 403)
        #expect(try await gateway.request(.get, "/v1beta1/projects/other/androidApps/a/deliveryData").status == 403)
    }
}
