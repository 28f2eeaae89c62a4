public import Logging
public import PushModel

/// Sends pushes to APNs: one pool for each (endpoint, team, key), one provider token for each (team, key).
public final class APNSSender: PushSender {
    /// Prepares the sender; nothing is dialed before the first push.
    ///
    /// - Parameter loopCount: loop threads of the engine, at least 1.
    public init(loopCount: Int, wallTime: @escaping WallTime, logger: Logger) {
        fatalError("pending")
    }

    /// Replaces the ways of all apps: pools that are no longer needed finish and close, pools that stay keep their
    /// connections. Pushes without a way end as `notSent(no_route)`.
    ///
    /// - Throws: ``APNSConfigurationError`` when a trust file can't be read; nothing changes then.
    public func use(_ apps: [APNSAppConfiguration]) throws(APNSConfigurationError) {
        fatalError("pending")
    }

    /// Sends a batch.
    public func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        fatalError("pending")
    }

    /// One entry for each pool.
    public var upstreams: [UpstreamStatus] { fatalError("pending") }

    /// Lets pushes in flight finish within `limit`, ends the others as `notSent` or `unknown`, closes everything.
    public func shutdown(within limit: Duration) async {
        fatalError("pending")
    }
}

/// A configuration that can't be used.
public struct APNSConfigurationError: Error, Sendable {
    /// The app it concerns.
    public let app: AppID
    /// The field of the app's `apns` block, such as `trust`.
    public let field: String
    /// What is wrong, in words.
    public let message: String

    /// Describes an error.
    public init(app: AppID, field: String, message: String) {
        self.app = app
        self.field = field
        self.message = message
    }
}
