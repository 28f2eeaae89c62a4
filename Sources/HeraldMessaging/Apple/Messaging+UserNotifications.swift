#if canImport(UserNotifications)
    public import UserNotifications

    extension Messaging {
        /// Forwards what the delegate of the notification center is told: a message came while the app was in the
        /// foreground.
        ///
        /// - Parameter options: how the app shows it; with none of them it is not shown, and not said to be.
        public func userNotificationCenter(
            _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
            options: UNNotificationPresentationOptions
        ) {
            let message = notification.request.content.userInfo
            appDidReceiveMessage(message)
            if !options.isEmpty { appDidShowMessage(message) }
        }

        /// Forwards what the delegate of the notification center is told: the user opened a message. One that was dismissed
        /// is not opened.
        public func userNotificationCenter(
            _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
        ) {
            guard response.actionIdentifier != UNNotificationDismissActionIdentifier else { return }
            appDidOpenMessage(response.notification.request.content.userInfo)
        }
    }
#endif
