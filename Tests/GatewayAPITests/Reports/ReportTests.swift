import Delivery
import FCMWire
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

extension TestGateway {
    /// Ends the deliveries that are due in a lane, as a worker would: `end` says how.
    func finish(
        _ lane: Lane, latency: Duration = .milliseconds(250),
        _ end: (Int) -> (outcome: LedgerOutcome, reason: String?) = { _ in (.accepted, nil) }
    ) async throws {
        clock.advance(by: latency)
        let claimed = try await claim(lane)
        let settlements = claimed.enumerated().map { index, delivery in
            let (outcome, reason) = end(index)
            return Settlement(
                delivery: delivery,
                result: .ended(
                    LedgerEntry(
                        outcome: outcome, reason: reason, verdict: nil, history: AttemptHistory(attempts: 1),
                        time: clock.now, latencyMilliseconds: latency.wholeMilliseconds,
                        pushID: PushID(message: delivery.message, registration: delivery.registration.key))))
        }
        _ = try await store.settle(settlements, by: worker)
        // An export ends before the present.
        clock.advance(by: .milliseconds(1))
    }

    /// Removes what is past its time now, as the gateway does once an hour.
    func removeWhatIsOutOfDate() async throws {
        let rules = RetentionRules(standard: RetentionPolicy())
        for part in RetentionPart.allCases {
            while try await !store.remove(part, by: rules, at: clock.now).isDone {}
        }
    }

    /// Registers installs and subscribes them to `news`.
    func subscribe(_ count: Int) async throws -> [(id: String, token: String)] {
        var installs: [(id: String, token: String)] = []
        for index in 0..<count { installs.append(try await register("\(1000 + index)")) }
        let list = installs.map { "\"\($0.token)\"" }.joined(separator: ",")
        let answer = try await request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":[\#(list)]}"#)
        #expect(answer.status == 200)
        return installs
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ReportTests {
    @Test func theReportOfABroadcastBalances() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(4)
        let name = try await gateway.send(
            #""topic":"news""#, #""notification":{"title":"Hi"},"fcm_options":{"analytics_label":"spring"}"#)
        let before = try await gateway.request(.get, "/v1/\(name)").json
        #expect(before["state"] == .string("ACTIVE"))
        #expect(before["completeTime"] == nil)
        #expect(before["latency"] == nil)
        try await gateway.finish(.bulk) { $0 == 0 ? (.rejected, "BadDeviceToken") : (.accepted, nil) }
        // The claim that finds no more recipients is what completes the fan-out.
        try await gateway.finish(.bulk)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["name"] == .string(name))
        #expect(report["target"] == .object([.init("topic", .string("news"))]))
        #expect(report["label"] == .string("spring"))
        #expect(report["state"] == .string("COMPLETE"))
        #expect(report["acceptTime"] == .string(TestGateway.startText))
        #expect(report["completeTime"] == .string("2026-01-02T03:04:05.928Z"))
        #expect(report["audience"] == .number("4"))
        #expect(
            String(decoding: try #require(report["ledger"]).bytes, as: UTF8.self)
                == #"{"recipients":4,"accepted":3,"rejected":1,"expired":0,"cancelled":0,"inFlight":0}"#)
        #expect(report["rejectedByReason"] == .object([.init("BadDeviceToken", .number("1"))]))
        let median = try #require(report["latency"]?["p50"]?.stringValue)
        #expect(median.wholeMatch(of: /0\.2[3-6]\d?s/) != nil, "\(median)")
    }

    @Test func aSingleSendNamesItsRegistration() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        let name = try await gateway.send(#""token":"\#(install.token)""#)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(
            report["target"]
                == .object([.init("registration", .string("projects/demo/registrations/\(install.id)"))]))
        #expect(report["ledger"]?["recipients"] == .number("1"))
        #expect(report["ledger"]?["inFlight"] == .number("1"))
    }

    @Test func blocksForOtherPlatformsAreKeptAndNotApplicable() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let given = #""androidV2":{"ttl":"60s","collapse_key":"c"},"webpush":{"headers":{"TTL":"15"}}"#
        let name = try await gateway.send(#""token":"\#(token)""#, #""notification":{"title":"Hi"},\#(given)"#)
        let blocks = try JSONValue(
            parsing: #"{"apple":"SENT","android":"NOT_APPLICABLE","webpush":"NOT_APPLICABLE"}"#.utf8)
        #expect(try await gateway.request(.get, "/v1/\(name)").json["blocks"] == blocks)
        #expect(try await gateway.request(.post, "/v1/\(name):pause").json["blocks"] == blocks)
        let id = try #require(name.split(separator: "/").last.flatMap { MessageID(rawValue: String($0)) })
        let project = try #require(ProjectID(rawValue: "demo"))
        let source = try FCMMessage.content(of: #require(try await gateway.store.message(id, in: project)).body).source
        #expect(source["androidV2"]?["collapse_key"] == .string("c"))
        #expect(source["webpush"]?["headers"]?["TTL"] == .string("15"))
        let plain = try await gateway.send(#""token":"\#(token)""#)
        #expect(
            try await gateway.request(.get, "/v1/\(plain)").json["blocks"]
                == .object([.init("apple", .string("SENT"))]))
        let law = #""recipients":1,"accepted":0,"rejected":0,"expired":0,"cancelled":0,"inFlight":1"#
        let figures = try JSONValue(parsing: #"{"apple":{"audience":1,"passedOver":0,\#(law)}}"#.utf8)
        #expect(try await gateway.request(.get, "/v1/\(plain)").json["platforms"] == figures)
    }

    @Test func messagesAreListedNewestFirstInPages() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        var names: [String] = []
        for _ in 0..<5 {
            gateway.clock.advance(by: .seconds(1))
            names.append(try await gateway.send(#""token":"\#(token)""#))
        }
        var listed: [String] = []
        var pageToken: String?
        repeat {
            let page = try await gateway.request(
                .get, "/v1/projects/demo/messages?pageSize=2" + (pageToken.map { "&pageToken=\($0)" } ?? "")
            ).json
            guard case .array(let messages) = page["messages"] else { break }
            #expect(messages.count <= 2)
            listed += messages.compactMap { $0["name"]?.stringValue }
            pageToken = page["nextPageToken"]?.stringValue
        } while pageToken != nil
        #expect(listed == names.reversed())
    }

    @Test func deliveriesAreFilteredByOutcome() async throws {
        let gateway = try await TestGateway()
        let ids = try await gateway.subscribe(3).map(\.id)
        let name = try await gateway.send(#""topic":"news""#)
        try await gateway.finish(.bulk) { $0 == 1 ? (.rejected, "Unregistered") : (.accepted, nil) }
        let all = try await gateway.request(.get, "/v1/\(name)/deliveries").json
        let deliveries = try all.requireList("deliveries")
        #expect(
            Set(deliveries.compactMap { $0["registration"]?.stringValue })
                == Set(ids.map { "projects/demo/registrations/\($0)" }))
        for filter in ["outcome=rejected", "outcome%20=%20%22REJECTED%22"] {
            let answer = try await gateway.request(.get, "/v1/\(name)/deliveries?filter=\(filter)").json
            let rejected = try answer.requireList("deliveries")
            try #require(rejected.count == 1, "\(rejected)")
            #expect(rejected[0]["outcome"] == .string("REJECTED"))
            #expect(rejected[0]["reason"] == .string("Unregistered"))
            #expect(rejected[0]["attempts"] == .number("1"))
            #expect(rejected[0]["latency"] == .string("0.250s"))
            #expect(rejected[0]["app"] == .string("com.example.app"))
            #expect(rejected[0]["apnsId"]?.stringValue?.count == 36)
        }
        let wrong = try await gateway.request(.get, "/v1/\(name)/deliveries?filter=reason=x")
        #expect(wrong.status == 400)
        #expect(try wrong.badFields == ["filter"])
    }

    @Test(arguments: ["messages/0:1-f", "messages/0:1-f/deliveries", "messages/%20"])
    func anUnknownMessageIsNotFound(path: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/v1/projects/demo/\(path)")
        #expect(
            answer.text
                == #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"UNKNOWN_RESOURCE"}]}}"#
        )
    }

    @Test func aWrongPageTokenIsRefused() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/v1/projects/demo/messages?pageToken=nonsense!")
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["page_token"])
    }

    @Test func aDevicesOwnDeliveriesAreListed() async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register()
        let first = try await gateway.send(#""token":"\#(token)""#)
        try await gateway.finish(.interactive) { _ in (.rejected, "BadTopic") }
        let second = try await gateway.send(#""token":"\#(token)""#)
        try await gateway.finish(.interactive)
        for name in [id, token] {
            let answer = try await gateway.request(.get, "/v1/projects/demo/registrations/\(name)/deliveries")
            #expect(answer.status == 200, "\(answer.text)")
            guard case .array(let deliveries) = try answer.json["deliveries"] else { continue }
            #expect(deliveries.map { $0["message"] } == [.string(second), .string(first)])
            #expect(deliveries.map { $0["outcome"] } == [.string("ACCEPTED"), .string("REJECTED")])
        }
        let unknown = try await gateway.request(
            .get, "/v1/projects/demo/registrations/abcdefgh:APA91bunknown/deliveries")
        #expect(unknown.status == 404)
        #expect(try await gateway.request(.get, "/v1/projects/demo/registrations/x/deliveries").status == 400)
    }
}
