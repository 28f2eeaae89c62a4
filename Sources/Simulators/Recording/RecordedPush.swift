/// A push as it arrived at the simulator, whatever the answer was.
package struct RecordedPush: Arrival, Codable, Hashable {
    /// Number of the push, from 1, in the order of arrival.
    package var number: Int
    /// Milliseconds since 1970 at arrival.
    package var time: Int64
    /// Number of the TCP connection, from 1.
    package var connection: Int
    /// The device token of the path, hex in lower case; empty when the path has none.
    package var deviceToken: String
    /// Method and path of a request about channels, such as `POST /4/broadcasts/apps/com.example.app`; `nil`: a push to a
    /// device.
    package var channelRequest: String?
    /// Request headers, names in lower case, without `authorization`.
    package var headers: [String: String]
    /// The body as text, its first 8 KiB.
    package var payload: String
    /// The answer's status; 0 when none was given. An answer that a rule delays is noted before it is given.
    package var status: Int
    /// The answer's reason.
    package var reason: String?
    /// The answer's apns-id, about channels its apns-request-id.
    package var apnsID: String?
}

/// The pushes that arrived at a simulated APNs.
package typealias Recording = ArrivalLog<RecordedPush>
