// swift-format-ignore-file
// What HeraldMessaging uses of AppKit, by Apple's documentation.
@MainActor
open class NSApplication {
    public static let shared = NSApplication()
    open func registerForRemoteNotifications() {}
}
