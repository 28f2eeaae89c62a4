import APNS
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

/// Waiting for the outcome of a message, as far as the API goes: nothing is delivered here but what a test settles.
struct WaitTests {
    private static let path = "/v1/projects/demo/messages:send"

    private static func body(_ token: String, delivery: String = "") -> String {
        #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}\#(delivery)}"#
    }

    private static func wait(_ value: String) -> HTTPFields { [.prefer: value] }

    @Test(
        arguments: [
            (["wait=5"], 5), (["respond-async, wait=10"], 10), (["respond-async", "wait=7"], 7), (["WAIT = 3 "], 3),
            ([#"wait="4""#], 4), (["wait=5; x=y"], 5), (["wait=2, wait=9"], 2), (["wait=0"], 0),
            (["wait=99999999999999999999"], 30), (["wait"], nil), (["wait=soon"], nil), (["wait=-1"], nil),
            (["wait=1.5"], nil), (["waiting=5"], nil), ([#"x="a, wait=5, b""#], nil), ([""], nil), ([], nil),
        ] as [([String], Int?)])
    func thePreferenceIsReadAsItsRFCSays(lines: [String], seconds: Int?) {
        var headers = HTTPFields()
        headers[values: .prefer] = lines
        #expect(PreferHeader.wait(in: headers) == seconds)
    }

    @Test(
        arguments: [
            (#""5s""#, .seconds(5)), ("5", .seconds(5)), (#""0.25s""#, .milliseconds(250)),
            ("1.5", .milliseconds(1500)),
            (#""30.000000001s""#, .seconds(30)), (#""3600s""#, .seconds(30)), ("1e9", .seconds(30)), ("0", nil),
            (#""0s""#, nil), ("null", nil),
        ] as [(String, Duration?)])
    func theBodyNamesADuration(text: String, limit: Duration?) throws {
        let body = Self.body("abcdefgh:APA91bxyz", delivery: #","delivery":{"wait":\#(text)}"#)
        let reader = try ObjectReader(root: JSONValue(parsing: Array(body.utf8)))
        let request = try SendRequest(reader, at: TestGateway.startTime)
        #expect(SendWait(in: request, Self.wait("wait=x"))?.limit == limit)
    }

    @Test(arguments: [#""5""#, #""-1s""#, "-1", #""1.0000000001s""#, #""s""#, "true", "[]", "{}", #""5m""#, "1e13"])
    func aWrongDurationIsRefusedWithItsPath(text: String) async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(
            .post, Self.path, Self.body(token, delivery: #","delivery":{"wait":\#(text)}"#))
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["delivery.wait"])
        #expect(try answer.reason == "WRONG_TYPE")
    }

    @Test func theBodyCountsMoreThanTheHeader() throws {
        let body = Self.body("abcdefgh:APA91bxyz", delivery: #","delivery":{"wait":2}"#)
        let request = try SendRequest(
            ObjectReader(root: JSONValue(parsing: Array(body.utf8))), at: TestGateway.startTime)
        let wait = try #require(SendWait(in: request, Self.wait("wait=9")))
        #expect(wait.limit == .seconds(2))
        #expect(wait.applied == nil)
    }

    @Test func withoutAnOutcomeTheAnswerIsTheAcceptedOne() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(.post, Self.path, Self.body(token), headers: Self.wait("wait=60"))
        #expect(answer.status == 200)
        #expect(answer.headers[.preferenceApplied] == "wait=30")
        let name = try #require(try answer.json["name"]?.stringValue)
        #expect(answer.text == #"{"name":"\#(name)","outcome":"IN_FLIGHT"}"#)
        // The request asked for no wait: FCM's own answer alone.
        let plain = try await gateway.request(.post, Self.path, Self.body(token))
        #expect(try plain.json["outcome"] == nil)
        #expect(plain.headers[.preferenceApplied] == nil)
    }

    @Test func anEndThatNobodyToldIsReadAtTheDeadline() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        var services = gateway.services
        services.request.acceptor = MessageAcceptor(
            store: StoreWithAccept.cancelling(gateway.store), composer: AppleComposer(),
            admission: Admission(in: gateway.store, limits: DeliveryLimits()), runner: nil,
            wallTime: { TestGateway.startTime })
        let answer = try await gateway.request(
            .post, Self.path, Self.body(token), headers: Self.wait("wait=1"), over: services)
        #expect(answer.status == 200)
        #expect(try answer.json["outcome"] == .string("CANCELLED"))
    }

    @Test(arguments: [#""topic":"news""#, #""condition":"'news' in topics""#])
    func oneRegistrationCanBeWaitedFor(target: String) async throws {
        let gateway = try await TestGateway()
        let message = #"{"message":{\#(target),"notification":{"title":"Hi"}}"#
        let preferred = try await gateway.request(.post, Self.path, message + "}", headers: Self.wait("wait=5"))
        #expect(preferred.status == 200)
        #expect(preferred.headers[.preferenceApplied] == nil)
        #expect(try preferred.json["outcome"] == nil)
        let asked = try await gateway.request(.post, Self.path, message + #","delivery":{"wait":"5s"}}"#)
        #expect(asked.status == 400)
        #expect(try asked.badFields == ["delivery.wait"])
        #expect(try asked.reason == "WAIT_NOT_POSSIBLE")
        let sent = try await gateway.request(.get, "/v1/projects/demo/messages").requireList("messages")
        #expect(sent.map { $0["name"] } == [try preferred.json["name"]])
    }

    @Test func aBatchCanNotBeWaitedFor() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let item = Self.body(token, delivery: #","delivery":{"wait":5}"#)
        let batch = try await gateway.request(
            .post, "/v1/projects/demo/messages:batchSend", #"{"messages":[\#(item),\#(Self.body(token))]}"#,
            headers: Self.wait("wait=5"))
        #expect(batch.status == 200)
        let responses = try batch.requireList("responses")
        #expect(responses.map { $0["name"] == nil } == [true, false])
        let multicast = try await gateway.request(
            .post, "/v1/projects/demo/messages:batchSend",
            #"{"message":{"notification":{"title":"Hi"}},"tokens":["\#(token)"],"delivery":{"wait":5}}"#)
        #expect(multicast.status == 400)
        #expect(try multicast.badFields == ["delivery.wait"])
    }

    @Test(
        arguments: [
            (.accepted, nil, 200, nil), (.rejected, "Unregistered", 404, "UNREGISTERED"),
            (.rejected, "UnregisteredEarlier", 200, nil),
            (.rejected, "Forbidden", 401, "THIRD_PARTY_AUTH_ERROR"),
            (.rejected, "BadDeviceToken", 400, "INVALID_ARGUMENT"), (.expired, "ServiceUnavailable", 200, nil),
            (.cancelled, nil, 200, nil),
        ] as [(LedgerOutcome, String?, Int, String?)])
    func aRepeatHasTheOutcomeOfTheFirst(
        outcome: LedgerOutcome, reason: String?, status: Int, code: String?
    ) async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let headers: HTTPFields = [.prefer: "wait=5", .idempotencyKey: "k1"]
        let first = try await gateway.request(.post, Self.path, Self.body(token), headers: headers)
        #expect(try first.json["outcome"] == .string("IN_FLIGHT"))
        #expect(try await gateway.request(.post, Self.path, Self.body(token), headers: headers).text == first.text)
        try await gateway.finish(.interactive) { _ in (outcome, reason) }
        let again = try await gateway.request(.post, Self.path, Self.body(token), headers: headers)
        #expect(again.status == status)
        if let code {
            #expect(try again.errorCode == code)
        } else {
            #expect(try again.json["outcome"] == .string(outcome.rawValue.uppercased()))
            #expect(try again.json["name"] == first.json["name"])
            #expect(try again.json["reason"]?.stringValue == reason)
        }
        // Who does not wait has the name.
        let plain = try await gateway.request(.post, Self.path, Self.body(token), headers: [.idempotencyKey: "k1"])
        #expect(plain.status == 200)
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test func aRepeatIsNoErrorOfTheGatewayThoughTheLedgerCanNotBeRead() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let headers: HTTPFields = [.prefer: "wait=5", .idempotencyKey: "k1"]
        let first = try await gateway.request(.post, Self.path, Self.body(token), headers: headers)
        try await gateway.finish(.interactive)
        var services = gateway.services
        services.request.store = BrokenStore(keys: gateway.store, knowsMessages: true)
        let again = try await gateway.request(.post, Self.path, Self.body(token), headers: headers, over: services)
        #expect(again.status == 200)
        #expect(again.text == first.text)
    }

    @Test func aPreflightTellsWhatIsKnownOfTheRegistration() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let request = String(Self.body(token).dropLast()) + #","validate_only":true}"#
        func standing() async throws -> JSONValue? {
            let answer = try await gateway.request(
                .post, Self.path, request, as: .sender, headers: Self.wait("wait=5"))
            #expect(answer.status == 200)
            return try answer.json["registration"]
        }
        let fresh = try #require(try await standing())
        #expect(fresh["state"] == .string("ACTIVE"))
        #expect(fresh["proven"] == .bool(false))
        #expect(fresh["lastDelivery"] == nil)
        _ = try await gateway.send(#""token":"\#(token)""#)
        try await gateway.finish(.interactive) { _ in (.rejected, "PayloadTooLarge") }
        let known = try #require(try await standing()?["lastDelivery"])
        #expect(known["outcome"] == .string("REJECTED"))
        #expect(known["reason"] == .string("PayloadTooLarge"))
        #expect(known["endTime"] != nil)
        let topic = try await gateway.request(
            .post, Self.path, #"{"message":{"topic":"news","notification":{"title":"Hi"}},"validate_only":true}"#)
        #expect(try topic.json["registration"] == nil)
    }
}

extension StoreWithAccept {
    /// A store where each message is cancelled as soon as it is accepted.
    fileprivate static func cancelling(_ store: SQLiteStore) -> StoreWithAccept {
        StoreWithAccept(store) { (messages, worker) throws(StoreError) in
            let results = try await store.accept(messages, claimedBy: worker)
            for message in messages {
                _ = try await store.control(
                    message.id, in: message.project, .cancel, at: message.acceptedAt, by: .gateway)
            }
            _ = try await store.bookCancelled(limit: 100, at: TestGateway.startTime)
            return results
        }
    }
}

extension Answer {
    /// `reason` of the last detail, which is our own.
    var reason: String? {
        get throws {
            guard case .array(let details) = try json["error"]?["details"], let last = details.last,
                last["@type"] == .string("type.googleapis.com/herald.v1.ErrorInfo")
            else { return nil }
            return last["reason"]?.stringValue
        }
    }
}
