import Foundation

/// Keeps that the link of an install was asked for.
public protocol FirstLaunchRecord: Sendable {
    /// Whether it was.
    var isRetrieved: Bool { get }
    /// Keeps that it was.
    func markRetrieved()
}

/// Keeps it in user defaults, under the keys of Firebase's SDK: an update that brings HeraldLinks into an installed app is
/// no first launch.
public struct UserDefaultsRecord: FirstLaunchRecord {
    private static let opened = "com.google.appinvite.openURL"
    private static let read = "com.google.appinvite.readDeeplinkAfterInstall"
    private let suiteName: String?

    /// Takes the standard defaults, or those of a suite.
    public init(suiteName: String? = nil) { self.suiteName = suiteName }

    private var defaults: UserDefaults { suiteName.flatMap { UserDefaults(suiteName: $0) } ?? .standard }

    /// Whether HeraldLinks or Firebase's SDK asked.
    public var isRetrieved: Bool { defaults.bool(forKey: Self.opened) || defaults.bool(forKey: Self.read) }

    /// Keeps it for both.
    public func markRetrieved() { defaults.set(true, forKey: Self.opened) }
}
