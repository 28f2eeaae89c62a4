import Delivery
import HTTPTypes
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct AuthenticationTests {
    private static let path = "/v1/projects/demo/messages"

    @Test func eachWayOfPresentingAKeyWorks() async throws {
        let gateway = try await TestGateway()
        let key = try #require(gateway.keys[.sender]).text
        let ways: [HTTPFields] = [
            [.authorization: "Bearer \(key)"], [.authorization: "bearer  \(key) "], [.authorization: "key=\(key)"],
            [.googleAPIKey: key],
        ]
        for headers in ways {
            let answer = try await gateway.request(.get, Self.path, as: nil, headers: headers)
            #expect(answer.status == 200, "\(headers)")
        }
    }

    @Test func aRequestWithoutAKeyIsUnauthenticated() async throws {
        let gateway = try await TestGateway()
        let headers: [HTTPFields] = [
            [:], [.authorization: "Bearer "], [.authorization: "Basic dTpw"], [.googleAPIKey: ""],
        ]
        for headers in headers {
            let answer = try await gateway.request(.get, Self.path, as: nil, headers: headers)
            #expect(answer.status == 401)
            #expect(answer.headers[.wwwAuthenticate] == "Bearer realm=\"herald\"")
            #expect(try answer.errorStatus == "UNAUTHENTICATED")
            #expect(try answer.errorCode == nil)
        }
    }

    @Test func unknownWrongAndRevokedKeysGetTheSameAnswer() async throws {
        let gateway = try await TestGateway()
        let demo = try #require(ProjectID(rawValue: "demo"))
        let unknown = APIKey(project: demo, role: .admin, at: TestGateway.startTime)
        let known = try #require(gateway.keys[.admin])
        let wrong = "hk_\(known.record.id)_\(String(repeating: "A", count: 43))"
        let revoked = try #require(gateway.keys[.client])
        #expect(try await gateway.store.revoke(revoked.record.id, at: gateway.clock.now, by: .gateway))
        for text in [unknown.text, wrong, revoked.text, "nonsense"] {
            let answer = try await gateway.request(
                .get, Self.path, as: nil, headers: [.authorization: "Bearer \(text)"])
            #expect(
                answer.text
                    == #"{"error":{"code":401,"message":"The API key is not valid: it is unknown or was revoked.","status":"UNAUTHENTICATED","details":[{"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"INVALID_CREDENTIAL"}]}}"#
            )
        }
    }

    @Test(arguments: ["/v1/projects/demo/messages:send", "/v1/projects/123456789012/messages:batchSend", "/fcm/send"])
    func aKeyOfAProjectThatIsNotConfiguredIsToldSo(path: String) async throws {
        let gateway = try await TestGateway()
        let projects = gateway.services.request.projects
        projects.replace(with: projects.projects.filter { $0.id.rawValue == "other" })
        let answer = try await gateway.request(.post, path, "{}", as: .sender)
        #expect(answer.status == 403)
        #expect(!answer.text.contains("SENDER_ID_MISMATCH"))
        #expect(!answer.text.contains("MismatchSenderId"))
        #expect(answer.text.contains("which is not configured on this gateway"))
    }

    @Test(arguments: ["demo", "123456789012", "nowhere", "%zz"])
    func aForeignKeyLearnsNothing(project: String) async throws {
        let gateway = try await TestGateway()
        let headers: HTTPFields = [.authorization: "Bearer \(gateway.foreignKey.text)"]
        let answer = try await gateway.request(.get, "/v1/projects/\(project)/messages", as: nil, headers: headers)
        guard project != "%zz" else {
            #expect(answer.status == 400)
            return
        }
        #expect(
            answer.text
                == #"{"error":{"code":403,"message":"The API key does not work on this project.","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"OTHER_PROJECT"}]}}"#
        )
        let send = try await gateway.request(
            .post, "/v1/projects/\(project)/messages:send", "{}", as: nil, headers: headers)
        #expect(send.status == 403)
        #expect(try send.errorCode == "SENDER_ID_MISMATCH")
        #expect(try send.errorMessage == "SenderId mismatch")
    }

    @Test func projectsAnswerToTheirNumber() async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, "/v1/projects/123456789012/messages").status == 200)
    }

    /// Who may use each route that needs a key, written out again on its own.
    private static let table: [String: Set<Role>] = [
        "POST /v1/projects/{project}/messages:send": [.admin, .sender],
        "POST /v1/projects/{project}/messages:batchSend": [.admin, .sender],
        "POST /v1/projects/{project}/messages/{message}:pause": [.admin, .sender],
        "POST /v1/projects/{project}/messages/{message}:resume": [.admin, .sender],
        "POST /v1/projects/{project}/messages/{message}:cancel": [.admin, .sender],
        "GET /v1/projects/{project}/messages": [.admin, .sender],
        "GET /v1/projects/{project}/messages/{message}": [.admin, .sender],
        "GET /v1/projects/{project}/events": [.admin, .sender],
        "GET /v1/projects/{project}/messages/{message}/deliveries": [.admin, .sender],
        "GET /v1/projects/{project}/registrations/{registration}/deliveries": [.admin, .sender],
        "GET /v1/projects/{project}/export": [.admin, .sender],
        "GET /v1/projects/{project}/export/schema": [.admin, .sender],
        "POST /v1/projects/{project}/registrations": [.admin, .client],
        "GET /v1/projects/{project}/registrations": [.admin],
        "GET /v1/projects/{project}/registrations/{registration}/audit": [.admin],
        "GET /v1/projects/{project}/audit": [.admin],
        "GET /v1/projects/{project}/status": [.admin],
        "POST /v1/projects/{project}/registrations:liftQuarantine": [.admin],
        "POST /v1/projects/{project}/registrations:check": [.admin, .sender],
        "POST /v1/projects/{project}/registrations:prune": [.admin],
        "DELETE /v1/projects/{project}/users/{user}": [.admin],
        "GET /v1/projects/{project}/registrations/{registration}:why": [.admin, .sender],
        "GET /v1/projects/{project}/registrations/{registration}": [.admin, .client],
        "PATCH /v1/projects/{project}/registrations/{registration}": [.admin, .sender, .client],
        "DELETE /v1/projects/{project}/registrations/{registration}": [.admin, .client],
        "POST /v1/projects/{project}/registrations/{registration}/topicSubscriptions": [.admin, .sender, .client],
        "GET /v1/projects/{project}/registrations/{registration}/topicSubscriptions": [.admin, .sender, .client],
        "GET /v1/projects/{project}/registrations/{registration}/topicSubscriptions/{topic}":
            [.admin, .sender, .client],
        "PATCH /v1/projects/{project}/registrations/{registration}/topicSubscriptions/{topic}":
            [.admin, .sender, .client],
        "DELETE /v1/projects/{project}/registrations/{registration}/topicSubscriptions/{topic}":
            [.admin, .sender, .client],
        "POST /v1/projects/{project}/registrations/{registration}/topicSubscriptions/{topic}:subscribe":
            [.admin, .sender, .client],
        "POST /v1/projects/{project}/registrations/{registration}/topicSubscriptions/{topic}:unsubscribe":
            [.admin, .sender, .client],
        "POST /v1/projects/{project}/installations": [.admin, .client],
        "POST /v1/projects/{project}/receipts": [.admin, .client],
        "POST /v1/web/iid": [.admin, .client],
        "POST /iid/v1:batchAdd": [.admin, .sender, .client],
        "POST /iid/v1:batchRemove": [.admin, .sender, .client],
        "POST /iid/v1:batchImport": [.admin],
        "POST /fcm/send": [.admin, .sender],
        "POST /fcm/notification": [.admin, .sender],
        "GET /fcm/notification": [.admin, .sender],
        "POST /iid/v1/{registration}/rel/topics/{topic}": [.admin, .sender, .client],
        "DELETE /iid/v1/{registration}/rel/topics/{topic}": [.admin, .sender, .client],
        "GET /iid/info/{registration}": [.admin, .sender, .client],
        "GET /v1/projects/{project}/topics": [.admin, .sender],
        "POST /v1/projects/{project}/channels": [.admin, .sender],
        "GET /v1/projects/{project}/channels": [.admin, .sender],
        "GET /v1/projects/{project}/channels/{channel}": [.admin, .sender],
        "DELETE /v1/projects/{project}/channels/{channel}": [.admin, .sender],
        "POST /v1/projects/{project}/webhooks": [.admin],
        "GET /v1/projects/{project}/webhooks": [.admin],
        "GET /v1/projects/{project}/webhooks/{webhook}": [.admin],
        "PATCH /v1/projects/{project}/webhooks/{webhook}": [.admin],
        "DELETE /v1/projects/{project}/webhooks/{webhook}": [.admin],
        "POST /v1/projects/{project}/webhooks/{webhook}:test": [.admin],
        "POST /v1/projects/{project}/webhooks/{webhook}:rotateSecret": [.admin],
        "POST /v1/projects/{project}/webhooks/{webhook}:replay": [.admin],
        "GET /v1/projects/{project}/webhooks/{webhook}/attempts": [.admin],
        "GET /v1/projects/{project}/webhooks/{webhook}/deadLetters": [.admin],
        "POST /v1/projects/{project}/webhooks/{webhook}/deadLetters:retry": [.admin],
        "GET /v1/projects/{project}/topics/{topic}": [.admin, .sender],
        "GET /v1/projects/{project}/topics/{topic}/registrations": [.admin],
        "GET /v1beta1/projects/{project}/androidApps/{app}/deliveryData": [.admin, .sender],
        "POST /batch": [.admin, .sender],
        "POST /v1": [.admin, .sender],
        "POST /v1/shortLinks": [.admin, .sender, .client],
        "POST /v1/managedShortLinks:create": [.admin, .sender],
        "GET /v1/managedShortLinks": [.admin, .sender],
        "GET /v1/managedShortLinks/{link}": [.admin, .sender],
        "PATCH /v1/managedShortLinks/{link}": [.admin, .sender],
        "DELETE /v1/managedShortLinks/{link}": [.admin, .sender],
        "GET /v1/{link}/linkStats": [.admin, .sender],
        "POST /v1/installAttribution": [.admin, .sender, .client],
        "POST /v1/reopenAttribution": [.admin, .sender, .client],
        "POST /v1/projects/{project}/referral/invitations": [.admin, .sender],
        "POST /v1/projects/{project}/referral/conversions": [.admin, .sender],
        "POST /v1/projects/{project}/referral/referrals/{referral}/decision": [.admin],
        "GET /v1/projects/{project}/referral/stats": [.admin, .sender],
        "DELETE /v1/projects/{project}/referral/users/{user}": [.admin],
        "POST /v1/convertInvitation": [.admin, .sender],
    ]

    /// Routes that need an installation's refresh token besides: without it they answer 401 to every role that may.
    static let refreshed: [String: Set<Role>] = [
        "POST /v1/projects/{project}/installations/{installation}/authTokens:generate": [.admin, .client],
        "DELETE /v1/projects/{project}/installations/{installation}": [.admin, .client],
    ]

    @Test func theTableHoldsEveryRouteThatNeedsAKey() {
        let routes = RouteTable.described.filter { route in
            if case .open = route.scope { return false }
            return true
        }
        let known = Set(Self.table.keys).union(Self.refreshed.keys)
        #expect(Set(routes.map { "\($0.method.rawValue) \($0.path)" }) == known)
    }

    @Test(arguments: refreshed.keys.sorted(), Role.allCases)
    func aRoleAloneIsNotEnoughForAnInstallation(route: String, role: Role) async throws {
        let gateway = try await TestGateway()
        let parts = route.split(separator: " ").map { String($0) }
        let path = parts[1].replacing("{project}", with: "demo")
            .replacing("{installation}", with: "cInstallationOne000000")
        let method = try #require(HTTPRequest.Method(parts[0]))
        let isAllowed = try #require(Self.refreshed[route]).contains(role)
        #expect(try await gateway.request(method, path, as: role).status == (isAllowed ? 401 : 403))
        #expect(try await gateway.request(method, path, as: nil).status == 401)
    }

    @Test(arguments: table.keys.sorted(), Role.allCases)
    func aRoleMayWhatTheTableSays(route: String, role: Role) async throws {
        let gateway = try await TestGateway()
        let parts = route.split(separator: " ").map { String($0) }
        let path = parts[1].replacing("{project}", with: "demo").replacing("{registration}", with: "abcdefgh:APA91bxyz")
            .replacing("{topic}", with: "news").replacing("{message}", with: "0:1-f")
            .replacing("{app}", with: "com.example.app")
        let method = try #require(HTTPRequest.Method(parts[0]))
        let answer = try await gateway.request(method, path, method == .get ? nil : "{}", as: role)
        let isAllowed = try #require(Self.table[route]).contains(role)
        #expect((answer.status != 403) == isAllowed, "\(answer.text)")
        #expect(answer.status != 401)
        if !isAllowed { #expect(answer.text.contains("has the role \(role.rawValue)")) }
        let keyless = try await gateway.request(method, path, method == .get ? nil : "{}", as: nil)
        #expect(keyless.status == 401)
    }
}
