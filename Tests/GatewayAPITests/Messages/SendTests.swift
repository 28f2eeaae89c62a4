import Delivery
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct SendTests {
    private static let path = "/v1/projects/demo/messages:send"

    @Test func aMessageToATokenIsAcceptedAndCommitted() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#, as: .sender)
        #expect(answer.status == 200)
        let name = try #require(try answer.json["name"]?.stringValue)
        #expect(answer.text == #"{"name":"\#(name)"}"#)
        let id = try #require(MessageID(rawValue: String(name.dropFirst("projects/demo/messages/".count))))
        let demo = try #require(ProjectID(rawValue: "demo"))
        #expect(try await gateway.store.message(id, in: demo) != nil)
    }

    @Test func aFIDIsATargetInBothFields() async throws {
        let gateway = try await TestGateway()
        let id = try await gateway.register().id
        for field in ["fid", "token"] {
            #expect(try await gateway.send(#""\#(field)":"\#(id)""#).hasPrefix("projects/demo/messages/"))
        }
    }

    @Test func validateOnlyKeepsNothing() async throws {
        let gateway = try await TestGateway()
        for field in ["validate_only", "validateOnly"] {
            let answer = try await gateway.request(
                .post, Self.path, #"{"message":{"topic":"news","notification":{"title":"Hi"}},"\#(field)":true}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        #expect(gateway.store.load.total.messages == 0)
        let demo = try #require(ProjectID(rawValue: "demo"))
        #expect(try await gateway.store.reports(in: demo, after: nil, limit: 10).elements.isEmpty)
    }

    @Test(arguments: ["nonsense", "short:short", "with space:APA91bxyzxyz"])
    func aMalformedTokenIsInvalid(token: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 400)
        #expect(try answer.errorCode == "INVALID_ARGUMENT")
        #expect(try answer.badFields == ["message.token"])
        #expect(try answer.errorMessage == "The registration token is not a valid FCM registration token")
    }

    @Test func unknownAndEndedTokensAreUnregistered() async throws {
        let gateway = try await TestGateway()
        let ended = try await gateway.register("01")
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(ended.id)")
        let foreign = try await gateway.foreignRegistration()
        let unknown = #""reason":"REGISTRATION_UNKNOWN""#
        let metadata = #""metadata":{"endCause":"DELETED","endTime":"\#(TestGateway.startText)"}"#
        let gone = #""reason":"REGISTRATION_ENDED",\#(metadata)"#
        for (token, cause) in [
            ("abcdefgh:APA91bunknown", unknown), (ended.token, gone), (ended.id, gone),
            (foreign.id.rawValue, unknown), ("\(foreign.id):APA91bwrong", unknown),
        ] {
            let answer = try await gateway.request(
                .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
            #expect(
                answer.text
                    == #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"},{"@type":"type.googleapis.com/herald.v1.ErrorInfo",\#(cause)}]}}"#
            )
        }
    }

    /// UNREGISTERED would make a backend with the wrong project delete its users.
    @Test func anotherProjectsTokenIsASenderMismatch() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.foreignRegistration().token.rawValue
        let message = #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#
        for body in [message, message.dropLast() + #","validate_only":true}"#] {
            let answer = try await gateway.request(.post, Self.path, String(body), as: .sender)
            #expect(answer.status == 403)
            #expect(try answer.errorCode == "SENDER_ID_MISMATCH")
            #expect(try answer.errorStatus == "PERMISSION_DENIED")
            #expect(try answer.errorMessage == "SenderId mismatch")
            #expect(try answer.reason == "REGISTRATION_OF_OTHER_PROJECT")
        }
        let batches = "/v1/projects/demo/messages:batchSend"
        for body in [
            #"{"messages":[\#(message)]}"#,
            #"{"message":{"notification":{"title":"Hi"}},"tokens":["\#(token)"]}"#,
        ] {
            let answer = try await gateway.request(.post, batches, body, as: .sender)
            #expect(answer.status == 200)
            #expect(answer.text.contains(#""errorCode":"SENDER_ID_MISMATCH""#), "\(answer.text)")
        }
        let topic = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(token)"]}"#)
        #expect(topic.text == #"{"results":[{"error":"INVALID_ARGUMENT"}]}"#)
        let shown = try await gateway.request(.get, "/v1/projects/demo/registrations/\(token)")
        #expect(shown.status == 403)
        #expect(try shown.errorCode == "SENDER_ID_MISMATCH")
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test(arguments: [
        (#"{"message":{"topic":"news"},"validate":true}"#, ""),
        (#"{"message":{"topic":"news","notification":{"icon":"x"}}}"#, "message.notification"),
        (#"{"message":{"topic":"news","data":{"a":12}}}"#, "message.data[0].value"),
        (#"{"message":12}"#, "message"),
        (#"{"message":{"topic":"news"},"validate_only":"yes"}"#, "validate_only"),
        (#"{"message":{"topic":"news"},"validate_only":true,"validateOnly":true}"#, "validate_only"),
        (#"{"message":{"topic":"news"},"delivery":{"finish_by":"x","finishBy":"x"}}"#, "delivery.finish_by"),
        (#"{"message":{"topic":"news","android":{"ttl":5}}}"#, "message.android.ttl"),
    ])
    func theFrontEndNamesTheField(body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT")
        #expect(try answer.errorCode == nil, "\(answer.text)")
        #expect(try answer.badFields == [field])
    }

    @Test(arguments: ["", "{", "nope", "{\"message\":{}} trailing", "{\"a\":\u{1}}"])
    func malformedJSONIsRefused(body: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try #require(try answer.errorMessage).hasPrefix("Invalid JSON payload received. "))
        #expect(try answer.errorCode == nil)
    }

    @Test func theRootMustBeAnObject() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, "[]")
        #expect(answer.status == 400)
        #expect(
            try answer.errorMessage
                == #"Invalid JSON payload received. Unknown name "": Root element must be a message."#)
    }

    @Test(arguments: [#"{}"#, #"{"message":{}}"#])
    func aTargetIsNeeded(body: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.errorCode == "INVALID_ARGUMENT", "\(answer.text)")
    }

    @Test func twoTargetsAreRefused() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"topic":"a","token":"abcdefgh:abcdefgh"}}"#)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT", "\(answer.text)")
    }

    @Test func aFullGatewayRefusesWithQuotaExceeded() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 1
        let gateway = try await TestGateway(limits: limits)
        _ = try await gateway.register("01")
        let token = try await gateway.register("02").token
        _ = try await gateway.send(#""token":"\#(token)""#)
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 429)
        #expect(try answer.errorCode == "QUOTA_EXCEEDED")
        #expect(answer.text.contains("google.rpc.QuotaFailure"))
        let seconds = try #require(answer.headers[.retryAfter].flatMap { Int($0) })
        #expect(seconds >= 1)
    }

    @Test func aStoppingGatewayIsUnavailable() async throws {
        let gateway = try await TestGateway()
        gateway.acceptor.stop()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"topic":"news","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 503)
        #expect(try answer.errorCode == "UNAVAILABLE")
    }

    @Test func aFailingStoreIsUnavailableAndNotQuoted() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"token":"abcdefgh:APA91bxyz","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 503)
        #expect(try answer.errorCode == "UNAVAILABLE")
        #expect(!answer.text.contains("disk"))
    }

    @Test func aBodyOverTheLimitIsTooLarge() async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 100)
        let answer = try await gateway.request(.post, Self.path, String(repeating: " ", count: 101))
        #expect(
            answer.text
                == #"{"error":{"code":413,"message":"Request payload size exceeds the limit: 100 bytes.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"BODY_TOO_LARGE"}]}}"#
        )
        #expect(answer.status == 413)
    }

    @Test func aConditionIsATarget() async throws {
        let gateway = try await TestGateway()
        let installs = try await gateway.subscribe(3)
        _ = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/sport","registration_tokens":["\#(installs[0].token)"]}"#)
        let condition = "'news' in topics && !('sport' in topics)"
        let name = try await gateway.send(#""condition":"\#(condition)""#)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["target"] == .object([.init("condition", .string(condition))]))
        let claimed = try await gateway.claim(.bulk)
        #expect(Set(claimed.map(\.registration.id.rawValue)) == Set(installs.dropFirst().map(\.id)))
    }

    @Test(arguments: ["'a' in topics &", "a", String(repeating: "(", count: 5000)])
    func aWrongConditionIsRefusedWithItsPlace(condition: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"condition":"\#(condition)","notification":{"title":"Hi"}}}"#)
        #expect(answer.status == 400)
        #expect(try answer.errorCode == "INVALID_ARGUMENT")
        #expect(try answer.badFields == ["message.condition"])
        #expect(try answer.errorMessage?.contains("at byte ") == true)
    }

    // MARK: - Idempotency

    private func send(_ gateway: TestGateway, _ body: String, key: String) async throws -> Answer {
        try await gateway.request(.post, Self.path, body, as: .sender, headers: [.idempotencyKey: key])
    }

    @Test func theSameKeyAndBodyGiveTheSameName() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let body = #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#
        let first = try await send(gateway, body, key: "k1")
        #expect(first.status == 200, "\(first.text)")
        for _ in 0..<3 { #expect(try await send(gateway, body, key: "k1").text == first.text) }
        #expect(try await send(gateway, body, key: "k2").text != first.text)
        #expect(gateway.store.load.total.messages == 2)
        #expect(try await gateway.claim(.interactive).count == 2)
    }

    @Test func aRepeatHasTheFirstAnswerWhateverBecameOfItsTargetTimeAndPlace() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 2
        let gateway = try await TestGateway(limits: limits)
        let install = try await gateway.register()
        let end = (TestGateway.startTime + .seconds(60)).rfc3339
        let bodies = [
            #"{"message":{"token":"\#(install.token)","notification":{"title":"Hi"}}}"#,
            #"{"message":{"token":"\#(install.token)","notification":{"title":"Hi"}},"delivery":{"finishBy":"\#(end)"}}"#,
        ]
        var names: [String] = []
        for (index, body) in bodies.enumerated() {
            let answer = try await send(gateway, body, key: "k\(index)")
            #expect(answer.status == 200, "\(answer.text)")
            names.append(answer.text)
        }
        // The limit is reached, the registration ended, the time is over.
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(install.id)")
        gateway.clock.advance(by: .seconds(120))
        for (index, body) in bodies.enumerated() {
            let answer = try await send(gateway, body, key: "k\(index)")
            #expect(answer.status == 200 && answer.text == names[index], "\(answer.text)")
            #expect(try await send(gateway, bodies[0] + " ", key: "k\(index)").status == 409)
        }
        #expect(gateway.store.load.total.messages == 2)
    }

    @Test func theSameKeyWithAnotherBodyConflicts() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let body = #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#
        _ = try await send(gateway, body, key: "k")
        for other in [body + " ", body.replacing("Hi", with: "Ho")] {
            let answer = try await send(gateway, other, key: "k")
            #expect(answer.status == 409)
            #expect(try answer.errorStatus == "ALREADY_EXISTS")
            #expect(try answer.errorMessage?.contains("Idempotency-Key") == true)
        }
        #expect(gateway.store.load.total.messages == 1)
    }

    @Test func requestsThatRaceMakeOneMessage() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let body = #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await send(gateway, body, key: "k").text } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(answers.count == 1)
        #expect(gateway.store.load.total.messages == 1)
    }

    @Test(arguments: ["", "a b", String(repeating: "k", count: 256)])
    func aMalformedKeyIsRefused(key: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await send(gateway, #"{"message":{"topic":"a","notification":{"title":"Hi"}}}"#, key: key)
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["Idempotency-Key"])
    }

    // MARK: - Preflight

    @Test func aPreflightTellsWhomItWouldReachAndHowLarge() async throws {
        let gateway = try await TestGateway()
        let installs = try await gateway.subscribe(3)
        func preflight(_ target: String, _ rest: String = "") async throws -> JSONValue {
            let answer = try await gateway.request(
                .post, Self.path,
                #"{"message":{\#(target),"notification":{"title":"Hi"}},"validate_only":true\#(rest)}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return try answer.json
        }
        let topic = try await preflight(#""topic":"news""#, #","delivery":{"rate":2}"#)
        #expect(topic["name"]?.stringValue?.hasPrefix("projects/demo/messages/") == true)
        #expect(topic["audience"] == .number("3"))
        #expect(topic["expectedDuration"] == .string("1.500s"))
        #expect(topic["refusals"] == .array([]))
        let size = #"{"aps":{"alert":{"title":"Hi"}}}"#.utf8.count
        #expect(
            topic["payloadBytes"]
                == .object([
                    .init("com.example.app", .integer(size)), .init("com.example.dev", .integer(size)),
                ]))
        #expect(try await preflight(#""condition":"!('news' in topics)""#)["audience"] == .number("0"))
        let single = try await preflight(#""token":"\#(installs[0].token)""#)
        #expect(single["audience"] == .number("1"))
        #expect(single["payloadBytes"] == .object([.init("com.example.app", .integer(size))]))
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test func aPreflightOfAFullGatewayTellsOfTheLimit() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 1
        let gateway = try await TestGateway(limits: limits)
        let token = try await gateway.register().token
        _ = try await gateway.send(#""token":"\#(token)""#)
        let answer = try await gateway.request(
            .post, Self.path, #"{"message":{"topic":"news","notification":{"title":"Hi"}},"validate_only":true}"#)
        #expect(answer.status == 200)
        #expect(try answer.json["refusals"] != .array([]))
        #expect(answer.text.contains("limits.messages"))
    }

    @Test func aPreflightOfAWrongMessageIsRefusedAsSendingItWouldBe() async throws {
        let gateway = try await TestGateway()
        let text = String(repeating: "x", count: 5000)
        for validates in ["true", "false"] {
            let answer = try await gateway.request(
                .post, Self.path,
                #"{"message":{"topic":"news","notification":{"title":"\#(text)"}},"validate_only":\#(validates)}"#)
            #expect(answer.status == 400)
            #expect(try answer.errorCode == "INVALID_ARGUMENT")
        }
    }
}
