/// A push as it arrived at the simulator, whatever the answer was.
public struct RecordedPush: Sendable, Codable {
    /// Number of the push, from 1, in the order of arrival.
    public var number: Int
    /// Milliseconds since 1970 at arrival.
    public var time: Int64
    /// Number of the TCP connection, from 1.
    public var connection: Int
    /// The device token of the path, hex.
    public var deviceToken: String
    /// Request headers, names in lower case, without `authorization`.
    public var headers: [String: String]
    /// The body as text.
    public var payload: String
    /// The answer's status; 0 when none was given.
    public var status: Int
    /// The answer's reason.
    public var reason: String?
    /// The answer's apns-id.
    public var apnsID: String?
}

/// Every push that arrived, in memory, at most `limit` (the oldest are forgotten), and to listeners as they come.
public final class Recording: Sendable {
    /// An empty recording.
    public init(limit: Int) {
        fatalError("pending")
    }

    /// All pushes still remembered, oldest first.
    public var pushes: [RecordedPush] { fatalError("pending") }

    /// How many arrived since the start.
    public var count: Int { fatalError("pending") }

    /// Suspends until at least `count` pushes have arrived since the start.
    public func wait(untilCount count: Int) async {
        fatalError("pending")
    }

    /// Pushes as they arrive from now on.
    public func arrivals() -> AsyncStream<RecordedPush> {
        fatalError("pending")
    }

    /// Forgets everything; ``count`` starts again.
    public func clear() {
        fatalError("pending")
    }
}
