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
struct BatchSendTests {
    private static let path = "/v1/projects/demo/messages:batchSend"
    private static let title = #""notification":{"title":"Hi"}"#

    private func responses(_ answer: Answer) throws -> [JSONValue] {
        guard case .array(let elements) = try answer.json["responses"] else { return [] }
        return elements
    }

    private func errorCode(_ response: JSONValue) -> String? {
        guard case .array(let details) = response["error"]?["details"] else { return nil }
        return details.first?["errorCode"]?.stringValue
    }

    @Test func eachMessageGetsItsOwnResultInOrder() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let messages = [
            #"{"message":{"token":"\#(token)",\#(Self.title)}}"#,
            #"{"message":{"token":"abcdefgh:APA91bunknown",\#(Self.title)}}"#,
            #"{"message":{"topic":"news",\#(Self.title)},"delivery":{"rate":10}}"#,
            #"{"message":{"token":"nonsense",\#(Self.title)}}"#,
            #"{"message":{"topic":"news","icon":1}}"#,
            #"{"message":{\#(Self.title)}}"#,
            #"{"message":{"topic":"news"},"validate_only":true}"#,
            "7",
            #"{"message":{"token":"\#(token)",\#(Self.title)}}"#,
        ]
        let answer = try await gateway.request(
            .post, Self.path, #"{"messages":[\#(messages.joined(separator: ","))]}"#, as: .sender)
        #expect(answer.status == 200, "\(answer.text)")
        let responses = try responses(answer)
        try #require(responses.count == messages.count)
        let names = responses.map { $0["name"]?.stringValue }
        #expect(names.map { $0 != nil } == [true, false, true, false, false, false, false, false, true])
        #expect(names[0] != names[8])
        #expect(
            responses.map(errorCode)
                == [nil, "UNREGISTERED", nil, "INVALID_ARGUMENT", nil, "INVALID_ARGUMENT", nil, nil, nil])
        #expect(responses[1]["error"]?["code"] == .number("404"))
        #expect(responses[4]["error"]?["status"] == .string("INVALID_ARGUMENT"))
        // The topic has no subscribers: its message is complete at once.
        #expect(gateway.store.load.total.messages == 2)
    }

    @Test(arguments: [
        "{}", #"{"messages":[]}"#, #"{"messages":{}}"#, #"{"messages":[],"tokens":[]}"#,
        #"{"messages":[{}],"message":{}}"#, #"{"messages":[{}],"delivery":{}}"#, #"{"message":{},"tokens":[]}"#,
        #"{"tokens":["a"]}"#, #"{"message":{"topic":"a"},"tokens":["a"]}"#,
        #"{"message":{},"tokens":["a"],"target":{"user":"a"}}"#, #"{"message":{},"tokens":[1]}"#,
        #"{"message":{},"tokens":["a"],"x":1}"#, "[]",
    ])
    func aBatchThatIsNoneIsRefusedAsAWhole(body: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body, as: .sender)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(try answer.errorStatus == "INVALID_ARGUMENT")
    }

    @Test func tenThousandMessagesAreTheMost() async throws {
        let gateway = try await TestGateway()
        func body(_ count: Int) -> String {
            #"{"validate_only":true,"messages":[\#(Array(repeating: "{}", count: count).joined(separator: ","))]}"#
        }
        let most = try await gateway.request(.post, Self.path, body(10_000), as: .sender)
        #expect(most.status == 200)
        #expect(try responses(most).count == 10_000)
        #expect(try await gateway.request(.post, Self.path, body(10_001), as: .sender).status == 400)
    }

    @Test func whatALimitHasNoPlaceForIsRefusedAndTheRestStands() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 3
        let gateway = try await TestGateway(limits: limits)
        let token = try await gateway.register().token
        let message = #"{"message":{"token":"\#(token)",\#(Self.title)}}"#
        let list = Array(repeating: message, count: 5).joined(separator: ",")
        let answer = try await gateway.request(.post, Self.path, #"{"messages":[\#(list)]}"#, as: .sender)
        #expect(answer.status == 200)
        let responses = try responses(answer)
        try #require(responses.map { $0["name"] != nil } == [true, true, true, false, false])
        #expect(responses[3]["error"]?["status"] == .string("RESOURCE_EXHAUSTED"))
        #expect(answer.text.contains(#""retryDelay":"5s""#))
        #expect(answer.text.contains("limits.messages"))
        #expect(gateway.store.load.total.messages == 3)
    }

    @Test func onlySoMuchOfBatchesIsReadAtATime() throws {
        let gate = BatchGate(limitBytes: 100)
        let (demo, other) = (try #require(ProjectID(rawValue: "demo")), try #require(ProjectID(rawValue: "other")))
        let third = try #require(ProjectID(rawValue: "third"))
        try gate.enter(60, of: demo)
        try gate.enter(40, of: other)
        let error = try #require(throws: FCMError.self) { try gate.enter(1, of: third) }
        #expect(error.code == .quotaExceeded)
        #expect(error.retryAfterSeconds == 1)
        gate.leave(60, of: demo)
        try gate.enter(1, of: demo)
        gate.leave(40, of: other)
        gate.leave(1, of: demo)
        // One alone always has room.
        try gate.enter(1000, of: demo)
    }

    @Test func aProjectHasHalfOfTheRoomAtMost() throws {
        let gate = BatchGate(limitBytes: 100)
        let (demo, other) = (try #require(ProjectID(rawValue: "demo")), try #require(ProjectID(rawValue: "other")))
        try gate.enter(25, of: demo)
        try gate.enter(25, of: demo)
        #expect(throws: FCMError.self) { try gate.enter(1, of: demo) }
        try gate.enter(25, of: other)
        try gate.enter(25, of: other)
        gate.leave(25, of: demo)
        try gate.enter(25, of: demo)
        #expect(throws: FCMError.self) { try gate.enter(1, of: other) }
    }

    @Test func theBodyMayBeLargerThanElsewhere() async throws {
        let gateway = try await TestGateway(bodyLimitBytes: 1000)
        let tokens = (0..<1000).map { "\"abcdefgh:APA91b\($0)\"" }.joined(separator: ",")
        let body = #"{"message":{\#(Self.title)},"tokens":[\#(tokens)]}"#
        let answer = try await gateway.request(.post, Self.path, body, as: .sender)
        #expect(answer.status == 200)
        #expect(try responses(answer).count == 1000)
        #expect(try answer.json["name"] == nil)
    }

    @Test func aMulticastIsOneMessageToManyTokens() async throws {
        let gateway = try await TestGateway()
        var installs: [(id: String, token: String)] = []
        for index in 0..<3 { installs.append(try await gateway.register("\(1000 + index)")) }
        let ended = try await gateway.register("2000")
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(ended.id)")
        let tokens = [
            installs[0].token, "abcdefgh:APA91bunknown", installs[1].token, "nonsense", installs[0].token,
            installs[2].id, ended.token,
        ]
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"message":{\#(Self.title)},"tokens":[\#(list)],"delivery":{"rate":5}}"#
        let answer = try await gateway.request(.post, Self.path, body, as: .sender)
        #expect(answer.status == 200, "\(answer.text)")
        let name = try #require(try answer.json["name"]?.stringValue)
        let responses = try responses(answer)
        #expect(
            responses.map(errorCode)
                == [nil, "UNREGISTERED", nil, "INVALID_ARGUMENT", nil, nil, "UNREGISTERED"])
        #expect(responses.first == .object([]))
        #expect(gateway.store.load.total.messages == 1)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["audience"] == .number("3"))
        #expect(report["target"] == .object([.init("registrations", .number("3"))]))
        let claimed = try await gateway.claim(.interactive)
        #expect(Set(claimed.map(\.registration.id.rawValue)) == Set(installs.map(\.id)))
    }

    @Test func aMulticastToNobodyKeepsNothing() async throws {
        let gateway = try await TestGateway()
        let body = #"{"message":{\#(Self.title)},"tokens":["abcdefgh:APA91bunknown","nonsense"]}"#
        let answer = try await gateway.request(.post, Self.path, body, as: .sender)
        #expect(answer.status == 200)
        #expect(try answer.json["name"] == nil)
        #expect(try responses(answer).map(errorCode) == ["UNREGISTERED", "INVALID_ARGUMENT"])
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test func aPreflightOfAMulticastKeepsNothing() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let body = #"{"message":{\#(Self.title)},"tokens":["\#(token)","nonsense"],"validateOnly":true}"#
        let answer = try await gateway.request(.post, Self.path, body, as: .sender)
        #expect(answer.status == 200)
        #expect(try answer.json["audience"] == .number("1"))
        #expect(try responses(answer).map(errorCode) == [nil, "INVALID_ARGUMENT"])
        #expect(gateway.store.load.total.messages == 0)
    }

    @Test func aRepeatedBatchHasTheFirstNamesWhateverBecameOfItsTargets() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        let end = (TestGateway.startTime + .seconds(60)).rfc3339
        let options = #""delivery":{"finishBy":"\#(end)"}"#
        let message = #"{"message":{"token":"\#(install.token)",\#(Self.title)},\#(options)}"#
        let bodies = [
            #"{"messages":[\#(message),\#(message)]}"#,
            #"{"message":{\#(Self.title)},"tokens":["\#(install.token)"],\#(options)}"#,
        ]
        var firsts: [JSONValue] = []
        for (index, body) in bodies.enumerated() {
            let answer = try await gateway.request(
                .post, Self.path, body, as: .sender, headers: [.idempotencyKey: "batch-\(index)"])
            #expect(answer.status == 200, "\(answer.text)")
            firsts.append(try answer.json)
        }
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(install.id)")
        gateway.clock.advance(by: .seconds(120))
        for (index, body) in bodies.enumerated() {
            let answer = try await gateway.request(
                .post, Self.path, body, as: .sender, headers: [.idempotencyKey: "batch-\(index)"])
            #expect(answer.status == 200, "\(answer.text)")
            if index == 0 { #expect(try answer.json == firsts[0]) }
            #expect(firsts[index]["name"] == (try answer.json["name"]), "\(answer.text)")
        }
        #expect(gateway.store.load.total.messages == 3)
    }

    @Test func aRepeatedBatchSendsNothingTwice() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let message = #"{"message":{"token":"\#(token)",\#(Self.title)}}"#
        let bodies = [
            #"{"messages":[\#(message),\#(message)]}"#, #"{"message":{\#(Self.title)},"tokens":["\#(token)"]}"#,
        ]
        for (index, body) in bodies.enumerated() {
            let headers: HTTPFields = [.idempotencyKey: "batch-\(index)"]
            let first = try await gateway.request(.post, Self.path, body, as: .sender, headers: headers)
            let second = try await gateway.request(.post, Self.path, body, as: .sender, headers: headers)
            #expect(first.status == 200)
            #expect(first.text == second.text)
        }
        #expect(gateway.store.load.total.messages == 3)
        let conflict = try await gateway.request(
            .post, Self.path, bodies[0] + " ", as: .sender, headers: [.idempotencyKey: "batch-0"])
        #expect(conflict.status == 409)
        let multicast = try await gateway.request(
            .post, Self.path, bodies[1] + " ", as: .sender, headers: [.idempotencyKey: "batch-1"])
        #expect(multicast.status == 409)
        // One key, one request: not for more items, nor for another method.
        let longer = try await gateway.request(
            .post, Self.path, #"{"messages":[\#(message),\#(message),\#(message)]}"#, as: .sender,
            headers: [.idempotencyKey: "batch-0"])
        #expect(longer.status == 409)
        let single = try await gateway.request(
            .post, "/v1/projects/demo/messages:send", message, as: .sender, headers: [.idempotencyKey: "batch-0"])
        #expect(single.status == 409)
        let sent = try await gateway.request(
            .post, "/v1/projects/demo/messages:send", message, as: .sender, headers: [.idempotencyKey: "single"])
        #expect(sent.status == 200)
        let batch = try await gateway.request(
            .post, Self.path, bodies[0], as: .sender, headers: [.idempotencyKey: "single"])
        #expect(batch.status == 409)
        #expect(gateway.store.load.total.messages == 4)
    }
}
