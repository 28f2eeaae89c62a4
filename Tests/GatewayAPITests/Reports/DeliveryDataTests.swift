import Delivery
import Foundation
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct DeliveryDataTests {
    private static func path(_ app: String = "com.example.app") -> String {
        "/v1beta1/projects/demo/androidApps/\(app)/deliveryData"
    }

    /// Three messages with a label, one without; of those with one, two are ended.
    ///
    /// - Returns: the registration token and the messages.
    @discardableResult
    private func makeHistory(_ gateway: TestGateway) async throws -> (token: String, messages: [String]) {
        let token = try await gateway.register().token
        var messages: [String] = []
        for _ in 0..<3 {
            messages.append(
                try await gateway.send(
                    #""token":"\#(token)""#,
                    #""notification":{"title":"Hi"},"fcm_options":{"analytics_label":"spring"}"#))
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
                            pushID: PushID(message: claim.message, registration: claim.registration.key))))
            }, by: gateway.worker)
        gateway.clock.advance(by: .seconds(86_400))
        messages.append(try await gateway.send(#""token":"\#(token)""#, #""data":{"a":"b"}"#))
        return (token, messages)
    }

    @Test func daysHaveFCMsShapeAndExactFigures() async throws {
        let gateway = try await TestGateway()
        try await makeHistory(gateway)
        let newest =
            #"{"appId":"com.example.app","date":{"year":2026,"month":1,"day":3},"data":{"countMessagesAccepted":"1","#
            + #""countNotificationsAccepted":"0","messageOutcomePercents":{"delivered":0.0,"pending":100.0,"#
            + #""droppedTtlExpired":0.0,"acceptedByProvider":0.0,"rejected":0.0,"cancelled":0.0},"ledger":{"#
            + #""recipients":1,"accepted":0,"rejected":0,"expired":0,"cancelled":0,"inFlight":1}}}"#
        let oldest =
            #"{"appId":"com.example.app","date":{"year":2026,"month":1,"day":2},"analyticsLabel":"spring","data":{"#
            + #""countMessagesAccepted":"3","countNotificationsAccepted":"3","messageOutcomePercents":{"#
            + #""delivered":0.0,"pending":33.333332,"droppedTtlExpired":33.333332,"acceptedByProvider":33.333332,"#
            + #""rejected":0.0,"cancelled":0.0},"ledger":{"recipients":3,"accepted":1,"rejected":0,"expired":1,"#
            + #""cancelled":0,"inFlight":1}}}"#
        let all = try await gateway.request(.get, Self.path(), as: .sender)
        #expect(all.status == 200)
        #expect(all.text == #"{"androidDeliveryData":[\#(newest),\#(oldest)]}"#)
        let first = try await gateway.request(.get, Self.path() + "?pageSize=1")
        let token = try #require(try first.json["nextPageToken"]?.stringValue)
        let second = try await gateway.request(.get, Self.path() + "?page_size=1&page_token=\(token)")
        #expect(second.text == #"{"androidDeliveryData":[\#(oldest)]}"#)
    }

    @Test func whatDevicesReportedIsDeliveredAndCountsOnce() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (token, messages) = try await makeHistory(gateway)
        // The first was accepted, the second expired, the third waits. No more are delivered than were accepted.
        for reported in 0..<3 {
            for _ in 0..<2 {
                let answer = try await gateway.request(
                    .post, "/v1/projects/demo/receipts",
                    #"{"registration":"\#(token)","message":"\#(messages[reported])","kind":"RECEIVED"}"#, as: .client)
                #expect(answer.text == #"{"results":[{}]}"#)
            }
            let page = try await gateway.request(.get, Self.path()).text
            #expect(
                page.contains(
                    #""messageOutcomePercents":{"delivered":33.333332,"pending":33.333332,"droppedTtlExpired":33.333332,"#
                        + #""acceptedByProvider":0.0,"rejected":0.0,"cancelled":0.0}"#), "\(page)")
        }
        #expect(try await gateway.store.check() == [])
    }

    /// FCM's discovery document: what is answered by its names has its types, and our own members are these.
    @Test func membersHaveTheTypesOfTheDiscoveryDocument() async throws {
        let text = try Checkout.text("Tests/FCMWireTests/Resources/fcmdata.v1beta1.json")
        let document = try JSONValue(parsing: Array(text.utf8))
        let schemas = DiscoverySchemas(schemas: try #require(document["schemas"]))
        let list = try #require(
            document["resources"]?["projects"]?["resources"]?["androidApps"]?["resources"]?["deliveryData"]?[
                "methods"]?[
                    "list"])
        #expect(list["flatPath"] == .string("v1beta1/projects/{projectsId}/androidApps/{androidAppsId}/deliveryData"))
        let gateway = try await TestGateway()
        // Two days; the newest has no label, hence a third.
        let (token, _) = try await makeHistory(gateway)
        gateway.clock.advance(by: .seconds(86_400))
        _ = try await gateway.send(#""token":"\#(token)""#, #""fcm_options":{"analytics_label":"spring"}"#)
        let answer = try await gateway.request(.get, Self.path() + "?pageSize=1").json
        var found = DiscoverySchemas.Findings()
        try schemas.check(answer, as: #require(list["response"]?["$ref"]?.stringValue), at: "", &found)
        #expect(found.wrong == [])
        let day = "androidDeliveryData."
        let percents = day + "data.messageOutcomePercents."
        #expect(
            found.own == [
                day + "data.ledger", percents + "acceptedByProvider", percents + "cancelled",
                percents + "rejected",
            ])
        #expect(
            found.known == [
                "nextPageToken", "androidDeliveryData", day + "analyticsLabel", day + "appId", day + "data",
                day + "data.countMessagesAccepted", day + "data.countNotificationsAccepted",
                day + "data.messageOutcomePercents", percents + "delivered", percents + "droppedTtlExpired",
                percents + "pending", day + "date", day + "date.day", day + "date.month", day + "date.year",
            ])
        // What is documented is what is answered.
        let operations = try Checkout.text("Sources/herald/herald.docc/Operations.md")
        let section = operations.components(separatedBy: "## Figures by day")[1].components(separatedBy: "\n## ")[0]
        let documented = section.split(separator: "\n").filter { $0.hasPrefix("| `") && $0.contains("Herald's own") }
            .flatMap { $0.split(separator: "|")[0].matches(of: /`([A-Za-z.]+)`/) }
            .compactMap { $0.1.split(separator: ".").last.map(String.init) }
        #expect(Set(documented) == Set(found.own.compactMap { $0.split(separator: ".").last.map(String.init) }))
    }

    @Test func aFirebaseAppIDIsNotABundleID() async throws {
        let gateway = try await TestGateway()
        for name in ["1:123456789012:android:0a1b2c3d4e5f", "1:123456789012:ios:0a1b", "1%3A123456789012%3Aweb%3A0A1B"]
        {
            let answer = try await gateway.request(.get, Self.path(name))
            #expect(answer.status == 404 && answer.text.contains("use the bundle id"), "\(answer.text)")
        }
        for name in ["1:x:ios:0a", "com.example.none"] {
            #expect(try await !gateway.request(.get, Self.path(name)).text.contains("bundle id"))
        }
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

/// The schemas of a discovery document, against answers.
private struct DiscoverySchemas {
    let schemas: JSONValue

    /// Members of an answer by their paths.
    struct Findings {
        /// Those of the document.
        var known: Set<String> = []
        /// Those that the document does not have.
        var own: Set<String> = []
        /// Those of another type than the document's.
        var wrong: Set<String> = []
    }

    /// Something that this reader does not know.
    struct Unknown: Error {
        let what: String
    }

    func check(_ value: JSONValue, as schema: String, at path: String, _ found: inout Findings) throws {
        guard case .object(let properties)? = schemas[schema]?["properties"] else { throw Unknown(what: schema) }
        guard case .object(let members) = value else {
            found.wrong.insert(path)
            return
        }
        for member in members {
            let here = path.isEmpty ? member.name : "\(path).\(member.name)"
            guard let property = properties.first(where: { $0.name == member.name })?.value else {
                found.own.insert(here)
                continue
            }
            found.known.insert(here)
            try check(member.value, property, at: here, &found)
        }
    }

    private func check(_ value: JSONValue, _ property: JSONValue, at path: String, _ found: inout Findings) throws {
        if let name = property["$ref"]?.stringValue { return try check(value, as: name, at: path, &found) }
        let isRight: Bool
        switch (property["type"]?.stringValue, property["format"]?.stringValue, value) {
        case ("string", nil, .string): isRight = true
        case ("string", "int64", .string(let text)): isRight = Int64(text) != nil
        case ("integer", "int32", .number(let text)): isRight = Int32(text) != nil
        case ("number", "float", .number(let text)): isRight = Float(text)?.isFinite == true
        case ("array", nil, .array(let elements)):
            guard let items = property["items"] else { throw Unknown(what: path) }
            for element in elements { try check(element, items, at: path, &found) }
            isRight = true
        case ("string", nil, _), ("string", "int64", _), ("integer", "int32", _), ("number", "float", _),
            ("array", nil, _):
            isRight = false
        default: throw Unknown(what: path)
        }
        if !isRight { found.wrong.insert(path) }
    }
}
