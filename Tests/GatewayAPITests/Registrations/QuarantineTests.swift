import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// What callers see of a registration whose device token APNs refuses.
@Suite(.timeLimit(.minutes(5)))
struct QuarantineTests {
    private static let path = "/v1/projects/demo/registrations"

    /// Registers a device and has its first push refused everywhere.
    private func quarantined(
        _ gateway: TestGateway, _ deviceToken: String = "00aa11", app: String = "com.example.app"
    ) async throws -> (id: String, token: String) {
        let made = try await gateway.register(deviceToken, app: app)
        _ = try await gateway.send(#""token":"\#(made.token)""#)
        let now = gateway.clock.now
        let settlements = try await gateway.claim(.interactive).map { delivery in
            let entry = LedgerEntry(
                outcome: .rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"),
                history: AttemptHistory(attempts: 2), time: now, latencyMilliseconds: 1,
                pushID: PushID(message: delivery.message, registration: delivery.registration.key))
            return Settlement(delivery: delivery, result: .ended(entry))
        }
        #expect(settlements.count == 1)
        _ = try await gateway.store.settle(settlements, by: gateway.worker)
        return made
    }

    private func state(_ id: String, _ gateway: TestGateway) async throws -> String? {
        try await gateway.request(.get, "\(Self.path)/\(id)").json["state"]?.stringValue
    }

    @Test func itIsShownWithTimeAndReason() async throws {
        let gateway = try await TestGateway()
        let (id, _) = try await quarantined(gateway)
        let shown = try await gateway.request(.get, "\(Self.path)/\(id)").json
        #expect(shown["state"] == .string("QUARANTINED"))
        #expect(shown["quarantineTime"] == .string(TestGateway.startText))
        #expect(shown["quarantineReason"] == .string("BadDeviceToken"))
    }

    @Test func aReportSaysWhomABroadcastPassedBy() async throws {
        let gateway = try await TestGateway()
        let (_, token) = try await quarantined(gateway)
        _ = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(token)"]}"#)
        _ = try await gateway.subscribe(2)
        let name = try await gateway.send(#""topic":"news""#)
        try await gateway.finish(.bulk)
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["audience"] == .number("3"))
        #expect(report["passedOver"] == .object([.init("quarantined", .number("1"))]))
        #expect(report["ledger"]?["recipients"] == .number("2"))
    }

    @Test(arguments: ["POST", "PATCH"])
    func itsAppEndsIt(method: String) async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await quarantined(gateway)
        if method == "POST" {
            #expect(try await gateway.register().id == id)
        } else {
            _ = try await gateway.request(.patch, "\(Self.path)/\(token)", #"{"ios":{}}"#, as: .client)
        }
        #expect(try await state(id, gateway) == "ACTIVE")
    }

    @Test func aMessageToItAloneIsTriedForAWeekAndThenUnregistered() async throws {
        let gateway = try await TestGateway()
        let (_, token) = try await quarantined(gateway)
        gateway.clock.advance(by: Quarantine.grace - .milliseconds(1))
        _ = try await gateway.send(#""token":"\#(token)""#)
        gateway.clock.advance(by: .milliseconds(1))
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#, as: .sender)
        #expect(answer.status == 404)
        #expect(try answer.errorCode == "UNREGISTERED")
        let lifted = try await gateway.request(
            .post, "\(Self.path):liftQuarantine", #"{"app":"com.example.app"}"#)
        #expect(try lifted.json["liftedCount"] == .number("1"))
        _ = try await gateway.send(#""token":"\#(token)""#)
    }

    @Test(arguments: ["startTime", "start_time"])
    func anAdminLiftsThoseOfAnAppFromATimeOn(name: String) async throws {
        let gateway = try await TestGateway()
        let early = try await quarantined(gateway, "0a").id
        gateway.clock.advance(by: .seconds(60))
        let late = try await quarantined(gateway, "0b").id
        let other = try await quarantined(gateway, "0c", app: "com.example.dev").id
        let lifted = try await gateway.request(
            .post, "\(Self.path):liftQuarantine",
            #"{"app":"com.example.app","\#(name)":"2026-01-02T03:05:00Z"}"#)
        #expect(lifted.text == #"{"liftedCount":1}"#)
        #expect(try await state(early, gateway) == "QUARANTINED")
        #expect(try await state(late, gateway) == "ACTIVE")
        #expect(try await state(other, gateway) == "QUARANTINED")
    }

    /// The gateway's app is Apple's and Android's; what is lifted is Apple's.
    @Test func whereAnIDRepeatsThePlatformIsSaid() async throws {
        let gateway = try await TestGateway(androidApps: ["com.example.app"])
        let id = try await quarantined(gateway).id
        let ambiguous = try await gateway.request(
            .post, "\(Self.path):liftQuarantine", #"{"app":"com.example.app"}"#)
        #expect(ambiguous.status == 400)
        #expect(try ambiguous.badFields == ["app"])
        #expect(ambiguous.text.contains("android:com.example.app or apple:com.example.app"), "\(ambiguous.text)")
        for (app, count) in [("android:com.example.app", 0), ("apple:com.example.app", 1)] {
            #expect(try await state(id, gateway) == "QUARANTINED")
            let lifted = try await gateway.request(
                .post, "\(Self.path):liftQuarantine", #"{"app":"\#(app)"}"#)
            #expect(lifted.text == #"{"liftedCount":\#(count)}"#)
        }
        #expect(try await state(id, gateway) == "ACTIVE")
        let audit = try await gateway.store.auditEntries(
            AuditFilter(action: .quarantineLifted), after: nil, limit: 10
        ).elements
        #expect(
            audit.map(\.subject).sorted() == [
                "android:com.example.app", "apple:com.example.app",
            ])
    }

    /// Links open the app on Android, and nothing registers there.
    @Test func anAppOfLinksOnlyMakesNoIDAmbiguous() async throws {
        let links = App(id: try #require(AppID(rawValue: "com.example.app")), service: .linksOnly(.android))
        let gateway = try await TestGateway(otherApps: [links])
        _ = try await quarantined(gateway)
        let lifted = try await gateway.request(
            .post, "\(Self.path):liftQuarantine", #"{"app":"com.example.app"}"#)
        #expect(lifted.text == #"{"liftedCount":1}"#)
    }

    @Test(arguments: [
        (#"{}"#, "app"), (#"{"app":"web:com.example.app"}"#, "app"),
        (#"{"app":"com.example.app","startTime":"today"}"#, "start_time"),
        (#"{"app":"com.example.app","since":"x"}"#, ""), (#"{"app":"com.example.ap"}"#, "app"),
    ])
    func aWrongFieldIsNamed(body: String, field: String) async throws {
        let answer = try await TestGateway().request(.post, "\(Self.path):liftQuarantine", body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
    }

    @Test(arguments: [Role.sender, .client]) func onlyAnAdminLifts(role: Role) async throws {
        let answer = try await TestGateway().request(
            .post, "\(Self.path):liftQuarantine", #"{"app":"com.example.app"}"#, as: role)
        #expect(answer.status == 403)
    }

    @Test func anEnvironmentThatWasFoundOutOutlivesAnAppThatNamesNone() async throws {
        let gateway = try await TestGateway()
        let made = try await gateway.register()
        let body =
            #"{"ios":{"apns_token":"\#("00aa11".deviceToken)","bundle_id":"com.example.app","apns_environment":"SANDBOX"}}"#
        _ = try await gateway.request(.post, Self.path, body)
        #expect(try await gateway.register().id == made.id)
        let shown = try await gateway.request(.get, "\(Self.path)/\(made.id)").json
        #expect(shown["apnsEnvironment"] == .string("SANDBOX"))
    }
}
