import Delivery
import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct DeviceGroupRouteTests {
    private static let sender = "123456789012"

    private func ask(
        _ gateway: TestGateway, _ body: String?, method: HTTPRequest.Method = .post, query: String = "",
        project: String? = sender, as role: Role = .sender
    ) async throws -> Answer {
        let key = try #require(gateway.keys[role]).text
        var headers: HTTPFields = [.authorization: "key=\(key)"]
        if let project { headers[try #require(HTTPField.Name("project_id"))] = project }
        return try await gateway.request(method, "/fcm/notification" + query, body, as: nil, headers: headers)
    }

    private func body(
        _ operation: String, key: String? = nil, name: String? = "user-1", _ tokens: [String]
    ) -> String {
        var members = [#""operation":"\#(operation)""#]
        if let key { members.append(#""notification_key":"\#(key)""#) }
        if let name { members.append(#""notification_key_name":"\#(name)""#) }
        members.append(#""registration_ids":[\#(tokens.map { "\"\($0)\"" }.joined(separator: ","))]"#)
        return "{\(members.joined(separator: ","))}"
    }

    private func key(_ answer: Answer) throws -> String {
        #expect(answer.status == 200, "\(answer.text)")
        let key = try #require(try answer.json["notification_key"]?.stringValue)
        #expect(answer.text == #"{"notification_key":"\#(key)"}"#)
        return key
    }

    private func expectError(_ answer: Answer, _ text: String) {
        #expect(answer.status == 400)
        #expect(answer.text == #"{"error":"\#(text)"}"#)
    }

    private func registrations(_ gateway: TestGateway, _ count: Int) async throws -> [(id: String, token: String)] {
        var installs: [(id: String, token: String)] = []
        for number in 0..<count { installs.append(try await gateway.register("\(1000 + number)")) }
        return installs
    }

    private func send(
        _ gateway: TestGateway, to key: String, _ more: String = "", as role: Role = .sender
    ) async throws -> Answer {
        try await gateway.request(
            .post, "/fcm/send", #"{"to":"\#(key)","notification":{"title":"Hi"}\#(more)}"#, as: role)
    }

    @Test func aGroupIsMadeChangedFoundAndDeleted() async throws {
        let gateway = try await TestGateway()
        let tokens = try await registrations(gateway, 3).map(\.token)
        let key = try key(await ask(gateway, body("create", [tokens[0], "nonsense", "abcdefgh:APA91bunknown"])))
        #expect(RegistrationToken(rawValue: key) != nil)
        expectError(try await ask(gateway, body("create", [tokens[0]])), "notification_key already exists")
        for query in ["?notification_key_name=user-1", "?notification_key_name=user%2D1"] {
            #expect(try self.key(await ask(gateway, nil, method: .get, query: query)) == key)
        }
        #expect(try self.key(await ask(gateway, body("add", key: key, Array(tokens[1...])))) == key)
        #expect(try self.key(await ask(gateway, body("remove", key: key, name: nil, [tokens[0]]))) == key)
        #expect(try await send(gateway, to: key).json["success"] == .number("2"))
        expectError(
            try await ask(gateway, body("add", key: key, name: "other", [tokens[0]])),
            "notification_key_name doesn't match the group name of the notification_key")
        expectError(try await ask(gateway, body("add", key: key, ["nonsense"])), "no valid registration ids")
        // The last member takes the group along.
        #expect(try self.key(await ask(gateway, body("remove", key: key, Array(tokens[1...])))) == key)
        expectError(try await ask(gateway, body("add", key: key, tokens)), "notification_key not found")
        expectError(
            try await ask(gateway, nil, method: .get, query: "?notification_key_name=user-1"),
            "notification_key not found")
        #expect(try self.key(await ask(gateway, body("create", tokens))) != key)
    }

    @Test func twentyAreTheMost() async throws {
        let gateway = try await TestGateway()
        let tokens = try await registrations(gateway, 21).map(\.token)
        let text = "A device group has at most 20 registration ids."
        expectError(try await ask(gateway, body("create", tokens)), text)
        let key = try key(await ask(gateway, body("create", Array(tokens[..<20]))))
        expectError(try await ask(gateway, body("add", key: key, [tokens[20]])), text)
        #expect(try await send(gateway, to: key).text.hasPrefix(#"{"success":20,"failure":0,"name":"#))
    }

    @Test func whatIsMissingIsNamed() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        expectError(
            try await ask(gateway, body("create", [token]), project: nil),
            "The header project_id is missing: the sender ID of the project.")
        for project in ["99", "other", ""] {
            expectError(
                try await ask(gateway, nil, method: .get, query: "?notification_key_name=user-1", project: project),
                "The header project_id is not the sender ID of the key's project.")
        }
        expectError(try await ask(gateway, nil, method: .get), "notification_key_name is missing.")
        expectError(try await ask(gateway, body("create", name: nil, [token])), "notification_key_name is missing.")
        expectError(try await ask(gateway, body("add", [token])), "notification_key is missing.")
        expectError(try await ask(gateway, body("add", key: "x", [token])), "notification_key not found")
        expectError(try await ask(gateway, body("rename", [token])), "operation must be create, add or remove.")
        expectError(try await ask(gateway, body("create", [])), "registration_ids is missing or empty.")
        expectError(try await ask(gateway, body("create", ["nonsense"])), "no valid registration ids")
        expectError(
            try await ask(gateway, body("create", key: "x", [token])),
            "notification_key: a new group gets its key, it can't be chosen.")
        for wrong in ["{", "[]", #"{"operation":7}"#, #"{"operation":"create","registration_id":"x"}"#] {
            let answer = try await ask(gateway, wrong)
            #expect(answer.status == 400)
            #expect(try answer.json["error"]?.stringValue != nil)
        }
        #expect(try await ask(gateway, body("create", [token]), as: .client).status == 403)
        #expect(try await ask(gateway, nil, method: .delete).status == 405)
        // Its id is as good as its number.
        _ = try key(await ask(gateway, body("create", [token]), project: "demo"))
    }

    @Test func theLegacyAPITellsHowManyMembersItReaches() async throws {
        let gateway = try await TestGateway()
        let installs = try await registrations(gateway, 3)
        let other = try await gateway.register("77", app: "com.example.dev")
        let key = try key(await ask(gateway, body("create", installs.map(\.token) + [other.token])))
        let all = try await send(gateway, to: key)
        let name = try #require(try all.json["name"]?.stringValue)
        #expect(all.text == #"{"success":4,"failure":0,"name":"\#(name)"}"#)
        #expect(try await gateway.request(.get, "/v1/\(name)").json["audience"] == .number("4"))
        #expect(try await gateway.claim(.interactive).count == 4)

        let some = try await send(gateway, to: key, #","restricted_package_name":"com.example.app""#)
        #expect(some.text.hasPrefix(#"{"success":3,"failure":1,"failed_registration_ids":["\#(other.id)"],"name":"#))
        // Only an admin, who may read tokens, is told one.
        let asAdmin = try await send(gateway, to: key, #","restricted_package_name":"com.example.app""#, as: .admin)
        #expect(asAdmin.text.contains(#""failed_registration_ids":["\#(other.token)"]"#))
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(installs[0].id)")
        #expect(try await send(gateway, to: key, #","dry_run":true"#).json["success"] == .number("3"))
        #expect(try await send(gateway, to: key, #","time_to_live":-1"#).text == #"{"error":"InvalidTtl"}"#)
        let large = String(repeating: "x", count: 5000)
        #expect(
            try await send(gateway, to: key, #","data":{"a":"\#(large)"}"#).text == #"{"error":"MessageTooBig"}"#)

        for install in [installs[1], installs[2], other] {
            _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(install.id)")
        }
        #expect(try await send(gateway, to: key).text == #"{"success":0,"failure":0}"#)
        let gone = key.dropLast(2) + (key.hasSuffix("xx") ? "yy" : "xx")
        #expect(try await send(gateway, to: String(gone)).text.contains(#""results":[{"error":"NotRegistered"}]"#))
    }

    @Test func aFullGatewayReachesNobody() async throws {
        var limits = DeliveryLimits()
        limits.messagesWaiting = 1
        let gateway = try await TestGateway(limits: limits)
        let install = try await gateway.register()
        let key = try key(await ask(gateway, body("create", [install.id])))
        #expect(try await send(gateway, to: key).json["success"] == .number("1"))
        let answer = try await send(gateway, to: key)
        #expect(answer.text == #"{"success":0,"failure":1,"failed_registration_ids":["\#(install.id)"]}"#)
        #expect(answer.headers[.retryAfter] == "5")
    }

    @Test func v1SendsToAGroupAsToAToken() async throws {
        let gateway = try await TestGateway()
        let installs = try await registrations(gateway, 2)
        let key = try key(await ask(gateway, body("create", installs.map(\.token))))
        let name = try await gateway.send(#""token":"\#(key)""#)
        #expect(try await gateway.request(.get, "/v1/\(name)").json["audience"] == .number("2"))
        let batch = try await gateway.request(
            .post, "/v1/projects/demo/messages:batchSend",
            #"{"messages":[{"message":{"token":"\#(key)","notification":{"title":"Hi"}}}]}"#, as: .sender)
        #expect(batch.text.contains(#""name":"projects/demo/"#), "\(batch.text)")
        #expect(try await gateway.claim(.interactive).count == 4)
        let dry = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(key)","notification":{"title":"Hi"}},"validate_only":true}"#)
        #expect(try dry.json["audience"] == .number("2"), "\(dry.text)")

        for install in installs {
            _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(install.id)")
        }
        let gone = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(key)","notification":{"title":"Hi"}}}"#)
        #expect(gone.status == 404)
        #expect(try gone.errorCode == "UNREGISTERED")
    }

    @Test func aGroupIsItsProjectsOwn() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let key = try key(await ask(gateway, body("create", [token])))
        let foreign: HTTPFields = [
            .authorization: "key=\(gateway.foreignKey.text)", try #require(HTTPField.Name("project_id")): "99",
        ]
        let found = try await gateway.request(
            .get, "/fcm/notification?notification_key_name=user-1", as: nil, headers: foreign)
        expectError(found, "notification_key not found")
        let sent = try await gateway.request(
            .post, "/fcm/send", #"{"to":"\#(key)","data":{"a":"b"}}"#, as: nil, headers: foreign)
        #expect(sent.text.contains("NotRegistered"))
    }
}
