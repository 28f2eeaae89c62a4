import Foundation
import TestSupport
import Testing

@testable import HeraldMessaging

/// The calls of an app, against a gateway that is played and under a clock that stands still.
@Suite(.timeLimit(.minutes(1)))
@MainActor
struct MessagingTests {
    private let gateway = PlayedGateway()
    private let storage = MemoryStorage()
    private let clock = TestClock()

    private func messaging(isInstallationIdEnabled: Bool = false) throws -> Messaging {
        Messaging(
            options: try .sample(isInstallationIdEnabled: isInstallationIdEnabled), transport: gateway,
            storage: storage,
            clock: .test(clock))
    }

    // Without `await` the form without an answer is meant, which an asynchronous function can't call.
    private func join(_ topic: String, _ messaging: Messaging) { messaging.subscribe(toTopic: topic) }
    private func leave(_ topic: String, _ messaging: Messaging) { messaging.unsubscribe(fromTopic: topic) }

    private func registered() async throws -> Messaging {
        let messaging = try messaging()
        messaging.start()
        messaging.apnsToken = Data([0x0a, 0xff])
        _ = try await messaging.token()
        return messaging
    }

    @Test("the token comes after APNs' device token; requests say what the API wants")
    func token() async throws {
        let messaging = try messaging()
        let delegate = DelegateStub()
        messaging.delegate = delegate
        #expect(messaging.fcmToken == nil)
        async let token = messaging.token()
        await gateway.requests(1)
        messaging.apnsToken = Data([0x0a, 0xff])
        #expect(try await token == "fid-1:secret")
        #expect(messaging.fcmToken == "fid-1:secret" && messaging.installationId == "fid-1")
        #expect(delegate.heard == ["token fid-1:secret"])
        let base = "/gateway/v1/projects/demo"
        #expect(gateway.lines == ["POST \(base)/installations", "POST \(base)/registrations"])
        #expect(
            gateway.requests[0].body
                == #"{"appId":"com.example.app","authVersion":"FIS_v2","sdkVersion":"i:HeraldMessaging-1"}"#)
        #expect(
            gateway.requests[1].body
                == #"{"fcmSdkVersion":"i:HeraldMessaging-1","ios":{"apnsEnvironment":"SANDBOX","apnsToken":"0aff","#
                + #""appVersion":"1.0","bundleId":"com.example.app"}}"#)
        #expect(gateway.requests[1].headers["X-Goog-Firebase-Installations-Auth"] == "auth")
        #expect(gateway.requests[1].headers["X-Goog-Api-Key"] == "hk_client")
        #expect(try await messaging.token() == "fid-1:secret")
        #expect(gateway.requests.count == 2)
    }

    @Test("the next launch knows the token, tells it once, and asks nothing")
    func secondLaunch() async throws {
        _ = try await registered()
        let second = try messaging()
        second.start()
        #expect(second.fcmToken == "fid-1:secret")
        let delegate = DelegateStub()
        second.delegate = delegate
        second.apnsToken = Data([0x0a, 0xff])
        #expect(try await second.token() == "fid-1:secret")
        await second.flush()
        #expect(delegate.heard == ["token fid-1:secret"])
        #expect(gateway.requests.count == 2)
    }

    @Test("with installation ids the delegate hears those")
    func installationIDs() async throws {
        let messaging = try messaging(isInstallationIdEnabled: true)
        let delegate = DelegateStub()
        messaging.delegate = delegate
        messaging.apnsToken = Data([1])
        try await messaging.register()
        await withCheckedContinuation { continuation in
            messaging.unregister { error in
                #expect(error == nil)
                continuation.resume()
            }
        }
        #expect(delegate.heard == ["id fid-1", "id none", "unregistered fid-1"])
    }

    @Test("without a network the token is refused at once, and comes by itself later")
    func offline() async throws {
        gateway.setReachable(false)
        let messaging = try messaging()
        messaging.apnsToken = Data([1])
        let error = await #expect(throws: MessagingError.self) { try await messaging.token() }
        #expect(error?.code == .network && messaging.lastError?.code == .network)
        gateway.setReachable(true)
        await clock.advanceToSleeper(within: .seconds(10))
        #expect(try await messaging.token() == "fid-1:secret")
    }

    @Test("topics that were joined without a network are joined after a day, also by another launch")
    func topicsOffline() async throws {
        let messaging = try await registered()
        gateway.setReachable(false)
        join("weather", messaging)
        leave("/topics/new%20s", messaging)
        async let joined: Void = messaging.subscribe(toTopic: "sport")
        while messaging.queue.topicChanges < 3 { await Task.yield() }
        let end = clock.now.advanced(by: .seconds(86_400))
        while clock.now < end { await clock.advanceToSleeper(within: .seconds(3600)) }
        #expect(messaging.queue.topicChanges == 3)
        let second = try self.messaging()
        second.load()
        #expect(second.queue.topicChanges == 3)
        gateway.setReachable(true)
        messaging.appDidBecomeActive()
        try await joined
        let base = "POST /gateway/v1/projects/demo/registrations/fid-1/topicSubscriptions/"
        #expect(
            gateway.lines.suffix(3) == [
                base + "weather:subscribe", base + "new%2520s:unsubscribe", base + "sport:subscribe",
            ])
        #expect(messaging.queue.topicChanges == 0)
    }

    @Test("a name that is no topic's is refused in each form")
    func invalidTopic() async throws {
        let messaging = try messaging()
        let error = await #expect(throws: MessagingError.self) { try await messaging.subscribe(toTopic: "a b") }
        #expect(error?.code == .invalidTopicName)
        await withCheckedContinuation { continuation in
            messaging.unsubscribe(fromTopic: "ü") { error in
                #expect((error as? MessagingError)?.code == MessagingError.invalidTopicName)
                continuation.resume()
            }
        }
        join("", messaging)
        #expect(messaging.lastError?.code == .invalidTopicName)
    }

    @Test("messages are acknowledged once, and are new once")
    func messages() async throws {
        let messaging = try await registered()
        let message: [AnyHashable: Any] = ["gcm.message_id": "0:1-a_2", "aps": ["alert": "hello"]]
        #expect(messaging.appDidReceiveMessage(message).status == .new)
        #expect(messaging.appDidReceiveMessage(message).status == .unknown)
        #expect(messaging.appDidReceiveMessage(["aps": [:] as [String: Any]]).status == .unknown)
        // Google's own message, of which the gateway knows nothing.
        let foreign: [AnyHashable: Any] = ["gcm.message_id": "0:1501%85e8"]
        #expect(messaging.appDidReceiveMessage(foreign).status == .new)
        #expect(messaging.appDidReceiveMessage(foreign).status == .unknown)
        messaging.appDidOpenMessage(["gcm.message_id": String(repeating: "1", count: 65)])
        messaging.appDidOpenMessage(message)
        await messaging.flush()
        let reports = gateway.requests.filter { $0.path.hasSuffix("/receipts") }.map(\.body).joined()
        let time = "2027-01-15T08:00:00Z"
        #expect(reports.contains(#"{"kind":"RECEIVED","message":"0:1-a_2","time":"\#(time)"}"#))
        #expect(!reports.contains("1501") && !reports.contains("1111"))
        #expect(reports.contains(#"{"kind":"OPENED","message":"0:1-a_2","time":"\#(time)"}"#))
        #expect(messaging.queue.receipts == 0)
        messaging.isReceiptReportingEnabled = false
        let count = gateway.requests.count
        #expect(messaging.appDidReceiveMessage(["gcm.message_id": "m2"]).status == .new)
        await messaging.flush()
        #expect(gateway.requests.count == count)
    }

    @Test("a 404 of something before the gateway is no word of the gateway")
    func proxy() async throws {
        let messaging = try await registered()
        gateway.answerNext(404, "<html>")
        gateway.answerNext(404, #"{"error":{"message":"none","details":[{"@type":"x","reason":"UNKNOWN_RESOURCE"}]}}"#)
        // Nothing runs after it, so that each further one makes one attempt.
        await messaging.flush()
        messaging.state.withLock { $0.core?.change(topic: "weather", isSubscription: true) }
        await messaging.flush()
        await messaging.flush()
        #expect(messaging.queue.topicChanges == 1 && messaging.lastError?.reason == nil)
        #expect(gateway.lines.count { $0.hasSuffix("weather:subscribe") } == 2 && gateway.requests.count == 4)
        gateway.answerNext(404, PlayedGateway.error("none", "REGISTRATION_ENDED"))
        await messaging.flush()
        #expect(messaging.queue.topicChanges == 0 && messaging.lastError?.reason == "REGISTRATION_ENDED")
        #expect(gateway.requests.count == 7)
    }

    @Test("what can't be read before the device is unlocked is read later, and nothing registers anew meanwhile")
    func lockedDevice() async throws {
        _ = try await registered()
        storage.setLocked(true)
        let second = try messaging()
        second.start()
        second.apnsToken = Data([0x0a, 0xff])
        await second.flush()
        #expect(second.fcmToken == nil && gateway.requests.count == 2)
        storage.setLocked(false)
        #expect(try await second.token() == "fid-1:secret")
        #expect(gateway.requests.count == 2)
    }

    @Test("what is of another gateway, project or app begins anew, but for what the app has set")
    func otherPlaces() async throws {
        let first = try await registered()
        first.isReceiptReportingEnabled = true
        await first.flush()
        var changes: [(inout HeraldOptions) -> Void] = []
        changes.append { $0.baseURL.append(path: "other") }
        changes.append { $0.project = "other" }
        changes.append { $0.appID = "com.example.other" }
        var options = try HeraldOptions.sample()
        options.isReceiptReportingEnabled = false
        for change in changes {
            change(&options)
            let helper = MessagingExtensionHelper(
                options: options, transport: gateway, storage: storage, clock: .test(clock))
            await helper.exportDeliveryMetrics(withMessageInfo: ["gcm.message_id": "m1"])
            #expect(try storage.laidReceipts().isEmpty, "the file is still of the place before")
            let count = gateway.requests.count
            let messaging = Messaging(options: options, transport: gateway, storage: storage, clock: .test(clock))
            messaging.start()
            #expect(messaging.fcmToken == nil && messaging.isReceiptReportingEnabled)
            messaging.apnsToken = Data([1])
            _ = try await messaging.token()
            await messaging.flush()
            #expect(gateway.requests.count == count + 2)
            let again = Messaging(options: options, transport: gateway, storage: storage, clock: .test(clock))
            again.start()
            #expect(again.fcmToken == "fid-1:secret")
        }
    }

    @Test("an extension acknowledges what is of its own project")
    func otherSender() async throws {
        _ = try await registered()
        let helper = MessagingExtensionHelper(
            options: try .sample(), transport: gateway, storage: storage, clock: .test(clock))
        let count = gateway.requests.count
        await helper.exportDeliveryMetrics(
            withMessageInfo: ["gcm.message_id": "m1", "google.c.sender.id": "456"])
        #expect(gateway.requests.count == count)
        await helper.exportDeliveryMetrics(
            withMessageInfo: ["gcm.message_id": "m1", "google.c.sender.id": "123"])
        #expect(gateway.requests.count == count + 1)
    }

    @Test("what was kept and is damaged begins anew")
    func damagedFile() async throws {
        try storage.write(Data("{".utf8))
        #expect(try await registered().fcmToken == "fid-1:secret")
    }

    @Test("the extension's receipts are sent by itself, or by the app")
    func serviceExtension() async throws {
        let messaging = try await registered()
        let helper = MessagingExtensionHelper(
            options: try .sample(), transport: gateway, storage: storage, clock: .test(clock))
        await helper.exportDeliveryMetrics(withMessageInfo: ["gcm.message_id": "m1"])
        #expect(gateway.requests.last?.body.contains(#""message":"m1""#) == true)
        #expect(try storage.laidReceipts().isEmpty)
        gateway.setReachable(false)
        await helper.exportDeliveryMetrics(withMessageInfo: ["gcm.message_id": "m2"])
        #expect(try storage.laidReceipts().count == 1)
        gateway.setReachable(true)
        messaging.appDidBecomeActive()
        await messaging.flush()
        #expect(gateway.requests.last?.body.contains(#""message":"m2""#) == true)
        #expect(try storage.laidReceipts().isEmpty)
    }

    @Test("a receipt that the extension laid aside stays there until it is written elsewhere")
    func fullDisk() async throws {
        let messaging = try await registered()
        await messaging.flush()
        gateway.setReachable(false)
        let helper = MessagingExtensionHelper(
            options: try .sample(), transport: gateway, storage: storage, clock: .test(clock))
        await helper.exportDeliveryMetrics(withMessageInfo: ["gcm.message_id": "m1"])
        storage.setFull(true)
        await messaging.flush()
        #expect(try storage.laidReceipts().count == 1)
        storage.setFull(false)
        await messaging.flush()
        #expect(try storage.laidReceipts().isEmpty)
        #expect(try storage.read().map { String(decoding: $0, as: UTF8.self).contains("m1") } == true)
        #expect(messaging.queue.receipts == 1)
    }

    @Test("a deletion ends the registration and who waits")
    func deletion() async throws {
        let messaging = try await registered()
        let delegate = DelegateStub()
        messaging.delegate = delegate
        try await messaging.deleteToken()
        #expect(messaging.fcmToken == nil)
        #expect(delegate.heard.suffix(2) == ["token none", "unregistered fid-1"])
        #expect(try await messaging.token() == "fid-1:secret")
        try await messaging.deleteData()
        #expect(
            gateway.lines.suffix(2) == [
                "DELETE /gateway/v1/projects/demo/registrations/fid-1",
                "DELETE /gateway/v1/projects/demo/installations/fid-1",
            ])
        #expect(gateway.requests.last?.headers["Authorization"] == "FIS_v2 refresh")
    }

    @Test("observers hear of another token, also after the gateway lost the installation")
    func observers() async throws {
        let messaging = try await registered()
        let posts = Posts()
        let observer = NotificationCenter.default.addObserver(
            forName: .MessagingRegistrationTokenRefreshed, object: messaging, queue: nil
        ) { _ in posts.add() }
        defer { NotificationCenter.default.removeObserver(observer) }
        await messaging.flush()
        #expect(posts.count == 0)
        gateway.answerNext(401, PlayedGateway.error("none", "INSTALLATION_INVALID"))
        gateway.answerNext(404, PlayedGateway.error("none", "UNKNOWN_RESOURCE"))
        let installed =
            #"{"fid":"fid-2","refreshToken":"refresh","authToken":{"token":"auth","expiresIn":"604800s"}}"#
        gateway.answerNext(200, installed)
        gateway.answerNext(200, #"{"name":"projects/demo/registrations/fid-2","token":"fid-2:other"}"#)
        try await messaging.subscribe(toTopic: "weather")
        #expect(messaging.fcmToken == "fid-2:other")
        #expect(posts.count == 1)
        // Of the same token nothing is said.
        messaging.apnsToken = Data([1])
        await messaging.flush()
        #expect(posts.count == 2, "the played gateway gives the first token again")
        messaging.apnsToken = Data([2])
        await messaging.flush()
        #expect(posts.count == 2)
    }

    @Test("a user is said with the backend's token, and signed out with none")
    func user() async throws {
        let messaging = try await registered()
        try await messaging.setUser(token: "custom")
        #expect(gateway.requests.last?.body.contains(#""userToken":"custom""#) == true)
        try await messaging.setUser(token: nil)
        #expect(gateway.requests.last?.body.contains(#""user":"""#) == true)
        gateway.answerNext(403, PlayedGateway.error("no proof", "USER_NOT_PROVEN"))
        let error = await #expect(throws: MessagingError.self) { try await messaging.setUser(token: "old") }
        #expect(error?.code == .noAccess && error?.reason == "USER_NOT_PROVEN" && error?.message == "no proof")
    }

    @Test("who waits for one user hears nothing of another one's answer")
    func users() async throws {
        let messaging = try await registered()
        gateway.setReachable(false)
        let alice = Task { try await messaging.setUser(token: "alice") }
        await gateway.requests(3)
        let bob = Task { try await messaging.setUser(token: "bob") }
        let error = await #expect(throws: MessagingError.self) { try await alice.value }
        #expect(error?.code == .invalidRequest)
        await messaging.flush()
        gateway.setReachable(true)
        messaging.appDidBecomeActive()
        try await bob.value
        #expect(gateway.requests.last?.body.contains(#""userToken":"bob""#) == true)
    }

    @Test("who waits for APNs is told that it gave no device token")
    func withoutAPNs() async throws {
        let messaging = try messaging()
        let token = Task { try await messaging.token() }
        await gateway.requests(1)
        messaging.didFailToRegisterForRemoteNotifications(with: URLError(.notConnectedToInternet))
        let error = await #expect(throws: MessagingError.self) { try await token.value }
        #expect(error?.underlying is URLError)
    }

    @Test("a flush ends after 20 seconds, whatever the gateway does")
    func flushLimit() async throws {
        let messaging = try await registered()
        await messaging.flush()
        gateway.setSilent(true)
        join("weather", messaging)
        await gateway.requests(3)
        let began = clock.now
        async let flush: Void = messaging.flush()
        await clock.advanceToSleeper(within: .seconds(60))
        await flush
        #expect(clock.now == began.advanced(by: .seconds(20)))
        #expect(messaging.queue.topicChanges == 1)
        gateway.setSilent(false)
        await messaging.flush()
        #expect(messaging.queue.topicChanges == 0)
    }

    @Test("a task that is cancelled waits no longer")
    func cancelled() async throws {
        let messaging = try messaging()
        let task = Task { try await messaging.token() }
        await gateway.requests(1)
        task.cancel()
        await #expect(throws: MessagingError.self) { try await task.value }
    }

    @Test("the one sender is the project's own")
    func senders() async throws {
        let messaging = try await registered()
        #expect(try await messaging.retrieveFCMToken(forSenderID: "123") == "fid-1:secret")
        await #expect(throws: MessagingError.self) { try await messaging.retrieveFCMToken(forSenderID: "456") }
        await #expect(throws: MessagingError.self) { try await messaging.deleteFCMToken(forSenderID: "456") }
        try await messaging.deleteFCMToken(forSenderID: "123")
        #expect(messaging.fcmToken == nil)
    }
}
