/// A push as it arrived at the simulated push service, whatever the answer was.
package struct RecordedWebPush: Arrival, Codable, Hashable {
    /// Number of the push, from 1, in the order of arrival.
    package var number: Int
    /// Milliseconds since 1970 at arrival.
    package var time: Int64
    /// The subscription of the path; empty when the path has none.
    package var subscription: String
    /// Request fields, names in lower case, without `authorization`.
    package var headers: [String: String]
    /// The public key of the sender in base64url; `nil`: the token was refused.
    package var senderKey: String?
    /// What the browser would read; `nil`: nothing.
    package var plaintext: String?
    /// The bytes of the body as they came.
    package var bodyBytes: Int
    /// The answer's status; 0 when none was given.
    package var status: Int
    /// Why it was refused.
    package var problem: String?
}
