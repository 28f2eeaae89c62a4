import NIOHPACK

/// The answer to one request.
struct Answer: Hashable {
    /// `nil`: none at all.
    var status: Int?
    var reason: String?
    /// With 410: milliseconds since 1970.
    var timestamp: Int64?
    var apnsID: String
    var delayMilliseconds = 0
    /// A `retry-after` header; `nil`: none.
    var retryAfterSeconds: Int?
    /// The id of a channel that was made.
    var channelID: String?
    /// The body of an answer that is no refusal.
    var body: String?
    /// Whether the request is one about channels: those have `apns-request-id` in the place of `apns-id`.
    var isOfChannel = false
    /// Bytes of additional headers.
    var additionalHeaderBytes = 0
}

extension Answer {
    /// Changes the answer as the scenario asks.
    ///
    /// - Returns: whether that was all there is to do.
    mutating func follow(_ action: ScenarioAction, now: Int64) -> Bool {
        switch action {
        case .answer(let answer):
            status = answer.status
            reason = answer.reason
            timestamp = answer.ageSeconds.map { now - Int64($0) * 1000 }
            retryAfterSeconds = answer.retryAfterSeconds
            return true
        case .delay(let milliseconds):
            delayMilliseconds += milliseconds
            return true
        case .bigHeaders(let bytes):
            additionalHeaderBytes = bytes
            return true
        case .resetStream, .drop, .freeze:
            status = nil
            return false
        case .hold, .release, .goAway, .close, .limitStreams, .openWindows, .tick:
            return false
        }
    }

    /// Headers that mean nothing, in lines of at most 1,000 bytes.
    var additionalHeaders: HPACKHeaders {
        var headers = HPACKHeaders()
        var left = additionalHeaderBytes
        while left > 0 {
            let bytes = min(left, 1000)
            headers.add(
                name: "x-simulated-\(headers.count)", value: String(repeating: "x", count: bytes),
                indexing: .nonIndexable)
            left -= bytes
        }
        return headers
    }
}
