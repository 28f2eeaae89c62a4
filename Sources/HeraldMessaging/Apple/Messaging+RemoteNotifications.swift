#if canImport(UIKit) && !os(watchOS)
    public import Foundation
    public import UIKit

    extension Messaging {
        /// Asks the system for a device token; the app delegate gets it. Call it at each launch: the token may change.
        @MainActor
        public func registerForRemoteNotifications(_ application: UIApplication = .shared) {
            application.registerForRemoteNotifications()
        }

        /// Forwards what the app delegate is told: the device token is there.
        @MainActor
        public func application(
            _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
        ) {
            apnsToken = deviceToken
        }

        /// Forwards what the app delegate is told: there is no device token.
        @MainActor
        public func application(
            _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error
        ) {
            didFailToRegisterForRemoteNotifications(with: error)
        }

        /// Forwards what the app delegate is told: a message came in the background. The time that the system grants is used
        /// to send what waits.
        @MainActor
        public func application(
            _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
        ) async -> UIBackgroundFetchResult {
            let info = appDidReceiveMessage(userInfo)
            await flush()
            return info.status == .new ? .newData : .noData
        }
    }
#elseif canImport(AppKit)
    public import AppKit
    public import Foundation

    extension Messaging {
        /// Asks the system for a device token; the app delegate gets it. Call it at each launch: the token may change.
        @MainActor
        public func registerForRemoteNotifications(_ application: NSApplication = .shared) {
            application.registerForRemoteNotifications()
        }

        /// Forwards what the app delegate is told: the device token is there.
        @MainActor
        public func application(
            _ application: NSApplication, didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
        ) {
            apnsToken = deviceToken
        }

        /// Forwards what the app delegate is told: there is no device token.
        @MainActor
        public func application(
            _ application: NSApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error
        ) {
            didFailToRegisterForRemoteNotifications(with: error)
        }

        /// Forwards what the app delegate is told: a message came.
        @MainActor
        public func application(_ application: NSApplication, didReceiveRemoteNotification userInfo: [String: Any]) {
            appDidReceiveMessage(userInfo)
        }
    }
#endif
