/// What a simulated Google can answer to a message instead of taking it. The raw values are the words of rules, and the
/// beginnings of tokens that always get such an answer: `unregistered-1:APA91b…`, of eight characters or more
/// before the colon.
package enum GoogleFault: String, Sendable, Codable, CaseIterable {
    /// 404 UNREGISTERED: the app is gone.
    case unregistered
    /// 400 INVALID_ARGUMENT for the token.
    case invalidToken = "invalid-token"
    /// 400 INVALID_ARGUMENT for the message.
    case invalidMessage = "invalid-message"
    /// 403 SENDER_ID_MISMATCH: the token is of another project.
    case mismatch
    /// 401 THIRD_PARTY_AUTH_ERROR: Google's credential for Apple is wrong.
    case thirdParty = "third-party"
    /// 401 UNAUTHENTICATED, without an error code of FCM's.
    case unauthenticated
    /// 403 PERMISSION_DENIED, without one: the account may not send.
    case permissionDenied = "permission-denied"
    /// 403 PERMISSION_DENIED with `SERVICE_DISABLED`: the API is off.
    case serviceDisabled = "service-disabled"
    /// 404 NOT_FOUND, without an error code of FCM's: there is no such project.
    case projectMissing = "project-missing"
    /// 429 QUOTA_EXCEEDED that names the project.
    case projectQuota = "project-quota"
    /// 429 QUOTA_EXCEEDED that names the device.
    case deviceQuota = "device-quota"
    /// 429 QUOTA_EXCEEDED that names a topic.
    case topicQuota = "topic-quota"
    /// 429 QUOTA_EXCEEDED that does not say whose.
    case quota
    /// 500 INTERNAL.
    case `internal`
    /// 503 UNAVAILABLE.
    case unavailable
    /// 502 with a page instead of JSON.
    case badGateway = "bad-gateway"
    /// 404 with a page instead of JSON.
    case page
    /// No answer at all.
    case silent
    /// The message is taken and the stream reset before the answer.
    case reset
    /// 400 `invalid_grant`, for token requests.
    case invalidGrant = "invalid-grant"
    /// 400 `invalid_grant` as for a clock that is wrong, for token requests.
    case wrongClock = "wrong-clock"

    /// The fault that a token asks for by its beginning.
    init?(token: String) {
        guard let fault = Self.allCases.first(where: { token.hasPrefix($0.rawValue + "-") }) else { return nil }
        self = fault
    }
}

/// What a simulated Google does with messages to one token, to tokens that begin alike, or to all.
///
/// ```json
/// {"fault": "unavailable", "retryAfterSeconds": 7, "times": 3}
/// {"delayMilliseconds": 250}
/// ```
package struct GoogleRule: Sendable, Codable, Hashable {
    /// What to answer; `nil`: as without the rule.
    package var fault: GoogleFault?
    /// `Retry-After` of the answer.
    package var retryAfterSeconds: Int?
    /// Milliseconds before the answer.
    package var delayMilliseconds: Int?
    /// For how many messages it holds; `nil`: for all.
    package var times: Int?

    /// Puts a rule together.
    package init(
        _ fault: GoogleFault?, retryAfterSeconds: Int? = nil, delayMilliseconds: Int? = nil, times: Int? = nil
    ) {
        self.fault = fault
        self.retryAfterSeconds = retryAfterSeconds
        self.delayMilliseconds = delayMilliseconds
        self.times = times
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case fault, retryAfterSeconds, delayMilliseconds, times
    }

    /// Reads the JSON shape above; every other key and every value out of range is refused.
    package init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        fault = try values.decodeIfPresent(GoogleFault.self, forKey: .fault)
        func number(_ key: CodingKeys, _ range: ClosedRange<Int>) throws -> Int? {
            let number = try values.decodeIfPresent(Int.self, forKey: key)
            guard number.map(range.contains) ?? true else {
                throw values.wrong(key, "must be \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
        retryAfterSeconds = try number(.retryAfterSeconds, 0...86_400)
        delayMilliseconds = try number(.delayMilliseconds, 0...Rule.longestDelayMilliseconds)
        times = try number(.times, 1...Int.max)
    }
}
