import ActivityKit
import Foundation
import HeraldMessaging
import UserNotifications

/// The article's snippets that stand alone, each in a function of its own.
@MainActor
enum Snippets {
    static var observer: (any NSObjectProtocol)?

    static func setUp() {
        HeraldApp.configure(
            options: HeraldOptions(
                baseURL: URL(string: "https://push.example.com")!, project: "demo", clientKey: "hk_…",
                appGroup: "group.com.example.app"))
    }

    static func readme(deviceToken: Data, userInfo: [AnyHashable: Any]) async throws {
        HeraldApp.configure()  // gateway, project and client key are in Herald-Info.plist
        Messaging.messaging().apnsToken = deviceToken
        let token = try await Messaging.messaging().token()
        try await Messaging.messaging().subscribe(toTopic: "weather")
        Messaging.messaging().appDidReceiveMessage(userInfo)
        Messaging.messaging().appDidOpenMessage(userInfo)
        print(token)
    }

    static func permission() async throws {
        let center = UNUserNotificationCenter.current()
        let isAllowed = try await center.requestAuthorization(options: [.alert, .badge, .sound])
        print(isAllowed)
    }

    static func token() async throws {
        Messaging.messaging().token { token, error in
            if let error = error {
                print("Error fetching FCM registration token: \(error)")
            } else if let token = token {
                print("FCM registration token: \(token)")
            }
        }
        let token = try await Messaging.messaging().token()
        print(token)
    }

    static func environment(deviceToken: Data) {
        Messaging.messaging().setAPNSToken(deviceToken, type: .sandbox)
    }

    static func autoInit() async throws {
        Messaging.messaging().isAutoInitEnabled = true
        try await Messaging.messaging().deleteToken()
    }

    static func observe() {
        let center = NotificationCenter.default
        observer = center.addObserver(forName: .MessagingRegistrationTokenRefreshed, object: nil, queue: .main) { _ in
            print("the registration token is another one")
        }
    }

    static func topics() async throws {
        Messaging.messaging().subscribe(toTopic: "weather") { error in
            print("Subscribed to weather topic")
        }
        try await Messaging.messaging().unsubscribe(fromTopic: "weather")
    }

    static func user(customToken: String) async throws {
        try await Messaging.messaging().setUser(token: customToken)
        try await Messaging.messaging().setUser(token: nil)
    }

    static func data(userInfo: [AnyHashable: Any]) {
        let info = Messaging.messaging().appDidReceiveMessage(userInfo)
        guard info.status == .new else { return }
        if let match = userInfo["match"] as? String { print(match) }
    }

    static func analyticsOff() {
        Messaging.messaging().isReceiptReportingEnabled = false
    }

    static func apps(options: HeraldOptions, delegate: any MessagingDelegate) {
        HeraldApp.configure(name: "second", options: options)
        guard let second = HeraldApp.app(name: "second") else { return }
        Messaging.messaging(app: second).delegate = delegate
    }

    static func activity<Match: ActivityAttributes>(activity: Activity<Match>) async {
        await Messaging.messaging().forwardPushTokens(of: activity) { token in
            print("for apns.live_activity_token: \(token)")
        }
    }

    static func queue() {
        let queue = Messaging.messaging().queue
        print(queue.topicChanges, queue.receipts, Messaging.messaging().lastError?.message ?? "")
    }
}
