// swift-format-ignore-file
// What HeraldMessaging and the article's snippets use of UIKit, by Apple's documentation.

public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

@MainActor
open class UIResponder {
    public init() {}
}

@MainActor
open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: Hashable, Sendable {}
    public static let shared = UIApplication()
    open func registerForRemoteNotifications() {}
}

@MainActor
public protocol UIApplicationDelegate: AnyObject {}
