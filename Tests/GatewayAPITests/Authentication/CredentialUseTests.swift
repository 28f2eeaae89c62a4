import HTTPListener
import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// Who did it: what messages, the audit log and the list of keys keep of a credential.
@Suite(.timeLimit(.minutes(5)))
struct CredentialUseTests {
    private let demo = ProjectID(rawValue: "demo")!

    private func key(
        _ role: Role = .sender, name: String? = nil, expiresAt: Timestamp? = nil, in gateway: TestGateway
    ) async throws -> APIKey {
        let key = APIKey(project: demo, role: role, at: TestGateway.startTime, name: name, expiresAt: expiresAt)
        try await gateway.store.insert(key.record, by: .gateway)
        return key
    }

    private func bearer(_ key: APIKey) -> HTTPFields { [.authorization: "Bearer \(key.text)"] }

    @Test func aMessageKeepsTheCredentialThatSentIt() async throws {
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(.init(address: 0, registration: 0, project: 0, proxies: 1)))
        let key = try await key(name: "news backend", in: gateway)
        let token = try await gateway.register().token
        var headers = bearer(key)
        headers[.forwardedFor] = "203.0.113.9, 192.0.2.7:4711"
        let sent = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#, as: nil, headers: headers)
        let name = try #require(try sent.json["name"]?.stringValue)
        try await gateway.finish(.interactive)
        let expected = try JSONValue(
            parsing: #"{"id":"\#(key.record.id)","name":"news backend","role":"sender","address":"192.0.2.7"}"#.utf8)
        for role in [Role.admin, .sender] {
            #expect(try await gateway.request(.get, "/v1/\(name)", as: role).json["credential"] == expected)
            guard
                case .array(let messages) = try await gateway.request(
                    .get, "/v1/projects/demo/messages", as: role
                ).json["messages"]
            else { Issue.record("no messages"); return }
            #expect(messages.map { $0["credential"] } == [expected])
        }
        gateway.clock.advance(by: .seconds(10))
        let export = try await gateway.request(
            .get, "/v1/projects/demo/export?startTime=2026-01-01T00:00:00Z&format=csv", as: .sender)
        let lines = export.text.split(separator: "\r\n")
        #expect(
            lines.first?.hasSuffix(
                "apns_id,credential_id,credential_name,credential_role,credential_address,upstream_id") == true)
        #expect(lines.last?.hasSuffix(",\(key.record.id),news backend,sender,192.0.2.7,") == true, "\(export.text)")
    }

    @Test func everyKindOfSendKeepsTheCredential() async throws {
        let gateway = try await TestGateway()
        let tokens = [try await gateway.register("aa01").token, try await gateway.register("aa02").token]
        let body = #""notification":{"title":"Hi"}"#
        for (path, json) in [
            ("/v1/projects/demo/messages:send", #"{"message":{"topic":"news",\#(body)}}"#),
            (
                "/v1/projects/demo/messages:batchSend",
                #"{"messages":[{"message":{"token":"\#(tokens[0])",\#(body)}}]}"#
            ),
            (
                "/v1/projects/demo/messages:batchSend",
                #"{"message":{\#(body)},"tokens":["\#(tokens[0])","\#(tokens[1])"]}"#
            ),
            ("/fcm/send", #"{"to":"\#(tokens[0])",\#(body)}"#), ("/fcm/send", #"{"to":"/topics/news",\#(body)}"#),
        ] {
            let answer = try await gateway.request(.post, path, json, as: .sender)
            #expect(answer.status == 200, "\(path) \(answer.text)")
        }
        let reports = try await gateway.store.reports(in: demo, after: nil, limit: 50).elements
        #expect(reports.count == 5)
        let id = try #require(gateway.keys[.sender]).record.id
        for report in reports {
            #expect(report.message.facts.credential?.id == id && report.message.facts.credential?.role == .sender)
        }
    }

    @Test func aKeyEndsWhenItExpires() async throws {
        let gateway = try await TestGateway()
        let end = TestGateway.startTime + .seconds(60)
        let key = try await key(expiresAt: end, in: gateway)
        let path = "/v1/projects/demo/messages"
        #expect(try await gateway.request(.get, path, as: nil, headers: bearer(key)).status == 200)
        gateway.clock.advance(by: .seconds(60))
        let refused = try await gateway.request(.get, path, as: nil, headers: bearer(key))
        #expect(refused.status == 401)
        #expect(try refused.errorMessage?.contains("expired at \(end.rfc3339)") == true)
        // With another secret nothing is learnt of it.
        let guess = try await gateway.request(
            .get, path, as: nil, headers: [.authorization: "Bearer hk_\(key.record.id)_guess"])
        #expect(try guess.errorMessage?.contains("expired") == false)
    }

    @Test func theLastUseOfAKeyIsWrittenInTheBackground() async throws {
        let gateway = try await TestGateway()
        let key = try await key(in: gateway)
        for _ in 0..<10 {
            _ = try await gateway.request(.get, "/v1/projects/demo/messages", as: nil, headers: bearer(key))
            gateway.clock.advance(by: .seconds(1))
        }
        #expect(try await gateway.store.apiKey(key.record.id)?.lastUsedAt == nil, "no request writes")
        let writer = KeyUseWriter(
            gateway.services.keyUses, to: gateway.store, clock: ContinuousClock(), logger: gateway.services.logger)
        await writer.write()
        let last = TestGateway.startTime + .seconds(9)
        #expect(try await gateway.store.apiKey(key.record.id)?.lastUsedAt == last)
        #expect(gateway.services.keyUses.take().isEmpty)
    }

    @Test func theLastUseIsWrittenWhenTheGatewayStops() async throws {
        let gateway = try await TestGateway()
        let key = try await key(in: gateway)
        _ = try await gateway.request(.get, "/v1/projects/demo/messages", as: nil, headers: bearer(key))
        let writer = KeyUseWriter(
            gateway.services.keyUses, to: gateway.store, clock: ContinuousClock(), logger: gateway.services.logger)
        let task = Task { await writer.run() }
        task.cancel()
        await task.value
        #expect(try await gateway.store.apiKey(key.record.id)?.lastUsedAt == TestGateway.startTime)
    }

    @Test func theAuditLogSaysWhoControlledAndLifted() async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(1)
        let name = try await gateway.send(#""topic":"news""#)
        let message = String(try #require(name.split(separator: "/").last))
        #expect(try await gateway.request(.post, "/v1/\(name):cancel", as: .sender).status == 200)
        let lift = try await gateway.request(
            .post, "/v1/projects/demo/registrations:liftQuarantine", #"{"app":"com.example.app"}"#)
        #expect(lift.status == 200)
        let answer = try await gateway.request(.get, "/v1/projects/demo/audit?pageSize=2")
        let entries = try answer.requireList("entries")
        #expect(entries.map { $0["action"]?.stringValue } == ["quarantine.lift", "message.cancel"])
        #expect(entries.map { $0["subject"]?.stringValue } == ["com.example.app", message])
        let ids = [Role.admin, .sender].map { gateway.keys[$0]?.record.id }
        #expect(entries.map { $0["credential"]?["id"]?.stringValue } == ids)
        #expect(try answer.json["nextPageToken"]?.stringValue != nil)
        let filtered = try await gateway.request(
            .get, "/v1/projects/demo/audit?filter=action%3Dmessage.cancel&startTime=2026-01-01T00:00:00Z")
        let some = try filtered.requireList("entries")
        #expect(some.count == 1)
        let wrong = try await gateway.request(.get, "/v1/projects/demo/audit?filter=action%3Dx")
        #expect(wrong.status == 400)
        #expect(try wrong.badFields == ["filter"])
    }

    @Test(arguments: [Role.sender, .client]) func theAuditLogIsForAdmins(role: Role) async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, "/v1/projects/demo/audit", as: role).status == 403)
    }

    @Test(arguments: [
        ("a", true), ("news backend", true), (String(repeating: "x", count: 100), true), ("", false),
        (String(repeating: "x", count: 101), false), ("a\nb", false), ("a\u{1b}[31m", false), ("a\u{85}", false),
    ])
    func aNameHasNoControlCharacters(name: String, isName: Bool) {
        #expect(APIKeyRecord.isName(name) == isName)
    }
}
