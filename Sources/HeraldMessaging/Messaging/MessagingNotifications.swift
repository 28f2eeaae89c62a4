public import Foundation

extension NSNotification.Name {
    // Firebase's names.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The registration token is another one; the object is the ``Messaging``.
    public static let MessagingRegistrationTokenRefreshed = NSNotification.Name(
        "com.firebase.messaging.notif.fcm-token-refreshed")

    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The registration was ended by the app.
    public static let MessagingInstallationIdUnregistered = NSNotification.Name(
        "com.firebase.messaging.notif.fid-unregistered")

    /// The registration was ended by the app.
    public static var messagingInstallationIdUnregistered: NSNotification.Name { MessagingInstallationIdUnregistered }
}
