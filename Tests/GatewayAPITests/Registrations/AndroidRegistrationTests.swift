import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// Android devices register with the token that Firebase's SDK gave the app.
@Suite(.timeLimit(.minutes(5)))
struct AndroidRegistrationTests {
    private static let path = "/v1/projects/demo/registrations"
    private static let app = "com.example.android"

    private static func body(_ token: String = "device-0001:APA91bSecret", app: String = app) -> String {
        #"{"android":{"fcm_token":"\#(token)","package_name":"\#(app)","app_version":"1.2"}}"#
    }

    @Test func aDeviceRegistersOnceAndItsTokenStaysSecret() async throws {
        let gateway = try await TestGateway(androidApps: [Self.app])
        let install = try await gateway.install()
        let first = try await gateway.request(.post, Self.path, Self.body(), of: install)
        #expect(first.status == 200, "\(first.text)")
        let again = try await gateway.request(.post, Self.path, Self.body(), of: install)
        #expect(again.text == first.text)
        let name = try #require(try first.json["name"]?.stringValue)
        let shown = try await gateway.request(.get, "/v1/\(name)")
        #expect(try shown.json["app"] == .string(Self.app))
        #expect(try shown.json["platform"] == .string("ANDROID"))
        #expect(try shown.json["appVersion"] == .string("1.2"))
        #expect(!shown.text.contains("Secret"))
        let id = try #require(RegistrationID(rawValue: String(name.split(separator: "/").last ?? "")))
        let demo = try #require(ProjectID(rawValue: "demo"))
        let kept = try #require(try await gateway.store.registration(id, in: demo))
        #expect(kept.address == .android(try #require(AndroidToken(rawValue: "device-0001:APA91bSecret"))))
    }

    @Test func aDeviceChangesItsToken() async throws {
        let gateway = try await TestGateway(androidApps: [Self.app])
        let install = try await gateway.install()
        let made = try await gateway.request(.post, Self.path, Self.body(), of: install).json
        let token = try #require(made["token"]?.stringValue).replacing(":", with: "%3A")
        let changed = try await gateway.request(
            .patch, "\(Self.path)/\(token)", Self.body("device-0002:APA91bSecret"), of: install)
        #expect(changed.status == 200, "\(changed.text)")
        let other = try await gateway.request(
            .patch, "\(Self.path)/\(token)", Self.body(app: "com.example.other"), of: install)
        #expect(other.status == 400 && other.text.contains("android.package_name"))
    }

    @Test(arguments: [
        (#"{"android":{"package_name":"com.example.android"}}"#, "android.fcm_token"),
        (#"{"android":{"fcm_token":"a b","package_name":"com.example.android"}}"#, "android.fcm_token"),
        (#"{"android":{"fcm_token":"device-0001:APA91b"}}"#, "android.package_name"),
        (#"{"android":{"fcm_token":"device-0001:APA91b","package_name":"com.example.app"}}"#, "android.package_name"),
        (#"{"android":{"fcm_token":"a","package_name":"com.example.android"},"ios":{}}"#, "android"),
        (#"{"android":{"fcm_token":"a","package_name":"com.example.android","bundle_id":"x"}}"#, "bundle_id"),
    ])
    func aMistakeIsToldWithItsField(body: String, field: String) async throws {
        let gateway = try await TestGateway(androidApps: [Self.app])
        let answer = try await gateway.request(.post, Self.path, body, of: try await gateway.install())
        #expect(answer.status == 400 && answer.text.contains(field), "\(answer.text)")
    }
}
