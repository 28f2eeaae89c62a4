import Foundation
import Simulators
import TestSupport
import Testing

@testable import HeraldMessaging

/// HeraldMessaging against a whole gateway with a simulated APNs, by URLSession.
@Suite(.timeLimit(.minutes(5)))
struct MessagingLibraryTests {
    /// The last push that arrived, as the system hands it to an app.
    private static func lastPush(_ test: GatewayUnderTest) throws -> (device: Data, message: [AnyHashable: Any]) {
        let push = try #require(test.simulator.recording.pushes.last)
        let message = try JSONSerialization.jsonObject(with: Data(push.payload.utf8)) as? [AnyHashable: Any]
        return (InstalledApp.bytes(of: push.deviceToken), try #require(message))
    }

    @Test("install, token, topic, push, receipt, opened, and another device token")
    func install() async throws {
        try await GatewayUnderTest.with { test in
            try test.addFirebaseKeys()
            let process = try await test.start()
            let app = try InstalledApp("app", at: process, test, deviceToken: "a1")
            let token = try await app.messaging.token()
            try await app.messaging.subscribe(toTopic: "weather")
            let (name, report) = try await test.broadcast(process)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            let (device, message) = try Self.lastPush(test)
            #expect(device == app.messaging.apnsToken)

            #expect(app.messaging.appDidReceiveMessage(message).status == .new)
            app.messaging.appDidOpenMessage(message)
            await app.messaging.flush()
            #expect(try await test.receipts(name, process) == ["received": 1, "opened": 1])

            // The extension of the app says so of a second message, with the app's file.
            let (second, _) = try await test.broadcast(process)
            let helper = MessagingExtensionHelper(
                options: app.options, transport: app.network, storage: app.storage)
            await helper.exportDeliveryMetrics(withMessageInfo: try Self.lastPush(test).message)
            #expect(try await test.receipts(second, process) == ["received": 1])

            app.messaging.apnsToken = InstalledApp.bytes(of: "a2")
            await app.messaging.flush()
            #expect(try await app.messaging.token() == token)
            _ = try await test.broadcast(process)
            #expect(try Self.lastPush(test).device == InstalledApp.bytes(of: "a2"))

            try await app.messaging.unsubscribe(fromTopic: "weather")
            let (_, none) = try await test.broadcast(process)
            #expect(try WholeGatewayTests.ledger(none)["recipients"] == 0)
            try await app.messaging.deleteData()
            let gone = try await APIClient(baseURL: process.baseURL, key: test.keys.admin).get(
                "/v1/projects/demo/registrations/\(token)")
            #expect(try gone.json["state"] as? String == "ENDED")
            await process.end(with: SIGTERM)
        }
    }

    @Test("an install whose device token another one took has its topics back with it, under another token")
    func superseded() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let app = try InstalledApp("first", at: process, test, deviceToken: "b1")
            let token = try await app.messaging.token()
            try await app.messaging.subscribe(toTopic: "weather")
            // The app was deleted and installed again, and the device then set back to the backup from before.
            let other = try InstalledApp("second", at: process, test, deviceToken: "b1")
            #expect(try await other.messaging.token() != token)
            let (_, none) = try await test.broadcast(process)
            #expect(try WholeGatewayTests.ledger(none)["recipients"] == 0)

            app.clock.advance(by: .seconds(7 * 86_400))
            await app.messaging.flush()
            #expect(
                app.messaging.lastError == nil
                    && app.messaging.installationId == token.split(separator: ":").first.map(String.init))
            #expect(try await app.messaging.token() != token)
            let (_, report) = try await test.broadcast(process)
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
            #expect(try Self.lastPush(test).device == InstalledApp.bytes(of: "b1"))
            await process.end(with: SIGTERM)
        }
    }

    @Test("after a day offline, a restart of the gateway, and with a wrong clock, nothing is missing")
    func troubles() async throws {
        try await GatewayUnderTest.with { test in
            try test.addFirebaseKeys()
            let first = try await test.start()
            let port = try #require(first.baseURL.split(separator: ":").last.map(String.init))
            let app = try InstalledApp("app", at: first, test, deviceToken: "c1", ahead: 400 * 86_400)
            let token = try await app.messaging.token()
            try await app.messaging.subscribe(toTopic: "weather")
            let (name, _) = try await test.broadcast(first)

            app.network.setThere(false)
            app.messaging.appDidReceiveMessage(try Self.lastPush(test).message)
            app.join("sport")
            app.leave("weather")
            await app.passADay()
            #expect(app.messaging.queue == MessagingQueue(topicChanges: 2, receipts: 1, droppedReceipts: 0))
            #expect(app.messaging.lastError?.code == .network)

            // There is a network, and no gateway. Then there is one with the same store.
            await first.end(with: SIGTERM)
            app.network.setThere(true)
            await app.messaging.flush()
            #expect(app.messaging.queue.topicChanges == 2)
            let second = try await test.start(environment: ["HERALD_LISTEN_PORT": port])
            await app.messaging.flush()
            #expect(app.messaging.queue == MessagingQueue(topicChanges: 0, receipts: 0, droppedReceipts: 0))
            #expect(try await app.messaging.token() == token)
            #expect(try await test.receipts(name, second) == ["received": 1])
            let api = APIClient(baseURL: second.baseURL, key: test.keys.admin)
            let topics = try await api.get("/v1/projects/demo/registrations/\(token)/topicSubscriptions").text
            #expect(topics.contains("/topicSubscriptions/sport") && !topics.contains("/topicSubscriptions/weather"))

            // By the gateway's clock the message came today, however the device's clock stands.
            let offset = try #require(app.messaging.state.withLock { $0.core?.record.clockOffset })
            #expect(abs(offset + 401 * 86_400) < 3600)
            // The device's clock is set right.
            let corrected = try InstalledApp("app", at: second, test, deviceToken: "c1")
            await corrected.messaging.flush()
            #expect(corrected.messaging.lastError == nil)
            #expect(try await corrected.messaging.token() == token)
            await second.end(with: SIGTERM)
        }
    }

    @Test("with a key that was revoked the app keeps what it is, and goes on with another key")
    func revokedKey() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let key = test.keys.client
            let app = try InstalledApp("app", at: process, test, deviceToken: "d1")
            let token = try await app.messaging.token()
            let revoked = try await GatewayProcess.run(["key", "revoke", "--config", test.configuration, key])
            #expect(revoked.status == 0, "\(revoked.lines)")
            // What the gateway knows of a key may be half a second old.
            let holder = APIClient(baseURL: process.baseURL, key: key)
            while try await holder.get("/v1/projects/demo/registrations/none").status != 401 {}
            app.join("weather")
            await app.messaging.flush()
            #expect(app.messaging.lastError?.reason == "INVALID_CREDENTIAL")
            #expect(app.messaging.lastError?.code == .authentication)
            #expect(app.messaging.fcmToken == token && app.messaging.queue.topicChanges == 1)
            let asked = app.network.asked
            await app.messaging.flush()
            #expect(app.network.asked == asked, "not asked again before an hour is over")

            let made = try await GatewayProcess.run(
                ["key", "create", "--config", test.configuration, "--project", "demo", "--role", "client"])
            let other = try #require(made.lines.last { !$0.isEmpty })
            let released = try InstalledApp("app", at: process, test, key: other, deviceToken: "d1")
            await released.messaging.flush()
            #expect(try await released.messaging.token() == token)
            #expect(released.messaging.queue.topicChanges == 0)
            await process.end(with: SIGTERM)
        }
    }
}
