// swift-format-ignore-file
// What HeraldMessaging and the article's snippets use of UserNotifications, by Apple's documentation.
public import Foundation

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = UNNotificationPresentationOptions(rawValue: 1)
    public static let sound = UNNotificationPresentationOptions(rawValue: 2)
    public static let list = UNNotificationPresentationOptions(rawValue: 8)
    public static let banner = UNNotificationPresentationOptions(rawValue: 16)
}

public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = UNAuthorizationOptions(rawValue: 1)
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    public static let alert = UNAuthorizationOptions(rawValue: 4)
}

public let UNNotificationDismissActionIdentifier = "com.apple.UNNotificationDismissActionIdentifier"

open class UNNotificationContent {
    public var userInfo: [AnyHashable: Any] { [:] }
    open func mutableCopy() -> Any { self }
}

open class UNMutableNotificationContent: UNNotificationContent {
    public var attachments: [UNNotificationAttachment] = []
    public var title = ""
}

open class UNNotificationAttachment {
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {}
}

open class UNNotificationRequest {
    public var content: UNNotificationContent { UNNotificationContent() }
}

open class UNNotification {
    public var request: UNNotificationRequest { UNNotificationRequest() }
}

open class UNNotificationResponse {
    public var notification: UNNotification { UNNotification() }
    public var actionIdentifier: String { "" }
}

public protocol UNUserNotificationCenterDelegate: AnyObject {}

open class UNUserNotificationCenter {
    public weak var delegate: (any UNUserNotificationCenterDelegate)?
    public static func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }
    public func requestAuthorization(options: UNAuthorizationOptions) async throws -> Bool { true }
}

open class UNNotificationServiceExtension {
    public init() {}
    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}
