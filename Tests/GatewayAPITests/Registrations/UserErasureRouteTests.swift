import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// `DELETE …/users/{u}`.
@Suite(.timeLimit(.minutes(5)))
struct UserErasureRouteTests {
    @Test func anAdminErasesAUserAndTheAuditLogNamesNobody() async throws {
        let gateway = try await TestGateway()
        let user = try #require(UserID(rawValue: "alice"))
        let request = RegistrationRequest(
            project: ProjectID(rawValue: "demo")!, app: AppID(rawValue: "com.example.app")!,
            address: .apple(DeviceToken(bytes: [1, 2])!, .production), appVersion: nil,
            owner: .user(user))
        let registration = try await gateway.store.register(request, at: TestGateway.startTime).registration
        let path = "/v1/projects/demo/users/alice"
        for role in [Role.sender, .client] {
            #expect(try await gateway.request(.delete, path, as: role).status == 403)
        }
        let answer = try await gateway.request(.delete, path)
        #expect(answer.status == 200)
        #expect(try answer.json["registrations"] == .number("1"))
        #expect(try answer.json["rewritten"] == .bool(true) && answer.json["reason"] == nil)
        let ended = try await gateway.store.registration(registration.id, in: registration.project)
        #expect(ended?.isActive == false && ended?.user == nil)
        let log = try await gateway.request(.get, "/v1/projects/demo/audit")
        #expect(log.text.contains("user.erase") && !log.text.contains("alice"))
        // Who gave the device to whom stays, under the name that the erasure has.
        let entries = try log.list("entries") ?? []
        func entry(_ action: AuditAction) -> JSONValue? {
            entries.first { $0["action"] == .string(action.rawValue) }
        }
        let digest = try #require(entry(.userErased)?["subject"])
        #expect(entry(.userChanged)?["details"]?["user"] == digest)
        #expect(try await gateway.request(.delete, "/v1/projects/demo/users/%20").status == 400)
    }

    @Test func theReportOfAMessageThatWasErasedBeforeItsEndSaysSo() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        _ = try await gateway.request(
            .patch, "/v1/projects/demo/registrations/\(token.replacing(":", with: "%3A"))", #"{"user":"alice"}"#)
        let name = try await gateway.send(#""token":"\#(token)""#)
        let id = try #require(name.split(separator: "/").last)
        #expect(try await gateway.request(.get, "/v1/projects/demo/messages/\(id)").json["payloadRemoved"] == nil)
        #expect(try await gateway.request(.delete, "/v1/projects/demo/users/alice").json["messages"] == .number("1"))
        let report = try await gateway.request(.get, "/v1/projects/demo/messages/\(id)").json
        #expect(report["payloadRemoved"] == .bool(true), "\(report)")
    }
}
