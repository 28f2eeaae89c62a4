import HTTPTypes
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct RegistrationTests {
    private static let path = "/v1/projects/demo/registrations"

    @Test func anAppRegistersAndIsShown() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path,
            #"{"ios":{"apns_token":"00AA","bundle_id":"com.example.app","apns_environment":"SANDBOX","app_version":"1.2"},"fcm_sdk_version":"fcm-12.1"}"#,
            as: .client)
        #expect(answer.status == 200)
        let name = try #require(try answer.json["name"]?.stringValue)
        let token = try #require(try answer.json["token"]?.stringValue)
        #expect(name.wholeMatch(of: /projects\/demo\/registrations\/[cdef][\w-]{21}/) != nil)
        let shown = try await gateway.request(.get, "\(Self.path)/\(token.replacing(":", with: "%3A"))", as: .client)
        #expect(
            shown.text
                == #"{"name":"\#(name)","token":"\#(token)","app":"com.example.app","apnsEnvironment":"SANDBOX","appVersion":"1.2","createTime":"\#(TestGateway.startText)","refreshTime":"\#(TestGateway.startText)","state":"ACTIVE"}"#
        )
    }

    @Test func camelCaseNamesAreTheSame() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, Self.path,
            #"{"ios":{"apnsToken":"00","bundleId":"com.example.app","apnsEnvironment":"PROD","appVersion":"1"},"fcmSdkVersion":"x"}"#
        )
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func theSameInstallKeepsItsNameAndToken() async throws {
        let gateway = try await TestGateway()
        let first = try await gateway.register()
        let second = try await gateway.register()
        #expect(first == second)
    }

    @Test(arguments: [
        ("com.example.app", "PROD"), ("com.example.dev", "SANDBOX"),
    ])
    func theAppsEnvironmentIsTheDefault(app: String, environment: String) async throws {
        let gateway = try await TestGateway()
        let id = try await gateway.register(app: app).id
        let shown = try await gateway.request(.get, "\(Self.path)/\(id)")
        #expect(try shown.json["apnsEnvironment"] == .string(environment))
    }

    @Test(arguments: [
        (#"{}"#, "ios"),
        (#"{"ios":{"bundle_id":"com.example.app"}}"#, "ios.apns_token"),
        (#"{"ios":{"apns_token":"xyz","bundle_id":"com.example.app"}}"#, "ios.apns_token"),
        (#"{"ios":{"apns_token":"00"}}"#, "ios.bundle_id"),
        (#"{"ios":{"apns_token":"00","bundle_id":"com.unknown"}}"#, "ios.bundle_id"),
        (
            #"{"ios":{"apns_token":"00","bundle_id":"com.example.app","apns_environment":"TEST"}}"#,
            "ios.apns_environment"
        ),
        (#"{"ios":{"apns_token":"00","bundle_id":"com.example.app","device":"x"}}"#, "ios"),
        (#"{"ios":{"apns_token":12,"bundle_id":"com.example.app"}}"#, "ios.apns_token"),
        (#"{"ios":[]}"#, "ios"),
        (#"{"android":{}}"#, ""),
    ])
    func aWrongFieldIsNamed(body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, Self.path, body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
        #expect(try answer.errorCode == nil)
    }

    @Test func aTokenThatIsTooLongIsToldTheLimit() async throws {
        let token = String(repeating: "0", count: 4098)
        let answer = try await TestGateway().request(
            .post, Self.path, #"{"ios":{"apns_token":"\#(token)","bundle_id":"com.example.app"}}"#)
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["ios.apns_token"])
        #expect(answer.text.contains("at most 4096"))
    }

    @Test func aChangeRotatesOnlyWhatIsGiven() async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register("0a")
        gateway.clock.advance(by: .seconds(60))
        let answer = try await gateway.request(
            .patch, "\(Self.path)/\(token)", #"{"ios":{"apns_token":"0b"}}"#, as: .client)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.json["createTime"] == .string("2026-01-02T03:04:05.678Z"))
        #expect(try answer.json["refreshTime"] == .string("2026-01-02T03:05:05.678Z"))
        #expect(try answer.json["token"] == .string(token))
        let demo = try #require(ProjectID(rawValue: "demo"))
        let stored = try await gateway.store.registration(#require(RegistrationID(rawValue: id)), in: demo)
        #expect(stored?.deviceToken.hex == "0b")
        #expect(stored?.environment == .production)
        let moved = try await gateway.request(
            .patch, "\(Self.path)/\(token)", #"{"ios":{"bundle_id":"com.example.dev"}}"#, as: .client)
        #expect(moved.status == 400)
        #expect(try moved.badFields == ["ios.bundle_id"])
    }

    @Test func anEndedRegistrationStaysVisibleAndEnded() async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register()
        for _ in 0..<2 {
            let answer = try await gateway.request(.delete, "\(Self.path)/\(token)", as: .client)
            #expect(answer.status == 200)
            #expect(answer.text == "{}")
        }
        let shown = try await gateway.request(.get, "\(Self.path)/\(id)")
        #expect(try shown.json["state"] == .string("ENDED"))
        #expect(try shown.json["endCause"] == .string("DELETED"))
        let changed = try await gateway.request(.patch, "\(Self.path)/\(id)", #"{"ios":{}}"#)
        #expect(changed.status == 404)
    }

    @Test(arguments: ["GET", "PATCH", "DELETE"])
    func aClientNeedsTheToken(method: String) async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register()
        let method = try #require(HTTPRequest.Method(method))
        let body = method == .patch ? #"{"ios":{}}"# : nil
        let byID = try await gateway.request(method, "\(Self.path)/\(id)", body, as: .client)
        #expect(byID.status == 403)
        #expect(!byID.text.contains(token))
        let byToken = try await gateway.request(method, "\(Self.path)/\(token)", body, as: .client)
        #expect(byToken.status == 200, "\(byToken.text)")
    }

    @Test func unknownIsNotFoundAndMalformedIsRefused() async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, "\(Self.path)/abcdefgh:APA91bxyz").status == 404)
        #expect(try await gateway.request(.get, "\(Self.path)/A%3Ab%2Fc").status == 400)
    }
}
