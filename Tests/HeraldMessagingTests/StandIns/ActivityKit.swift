// swift-format-ignore-file
// What HeraldMessaging uses of ActivityKit, by Apple's documentation.
public import Foundation

public protocol ActivityAttributes: Codable, Sendable {}

public final class Activity<Attributes: ActivityAttributes>: Sendable {
    public var pushTokenUpdates: AsyncStream<Data> { AsyncStream { $0.finish() } }
    public static var pushToStartTokenUpdates: AsyncStream<Data> { AsyncStream { $0.finish() } }
}
