/// A number that a scenario can be set up with. Which ones a scenario takes, and what they are unless given, stands in
/// ``Scenario/Name``.
enum ScenarioParameter: String, Sendable, CaseIterable, CodingKey {
    case share, after, spread, connections, every, length, factor, held, refusals
    case streamLimit, windowBytes, stepBytes, headerBytes
    case errorCode, status, abrupt
    case retryAfterSeconds, ageSeconds, intervalSeconds
    case everyMilliseconds, durationMilliseconds, waitMilliseconds, lingerMilliseconds
    case medianMilliseconds, p99Milliseconds, longestMilliseconds

    /// The values that are possible.
    var range: ClosedRange<Double> {
        switch self {
        case .share: 0...1
        case .after, .every, .held: 1...1_000_000
        case .spread, .connections, .length, .refusals: 0...1_000_000
        case .factor: 2...1000
        case .streamLimit: 1...100_000
        case .windowBytes: 0...65_535
        case .stepBytes: 1...65_535
        // With the other headers it must fit into one HEADERS frame of 16,384 bytes.
        case .headerBytes: 1...15_000
        case .errorCode: 0...13
        case .status: 403...500
        case .abrupt: 0...1
        case .retryAfterSeconds: 0...86_400
        case .ageSeconds: 0...31_536_000
        case .intervalSeconds: 0...86_400
        case .everyMilliseconds, .medianMilliseconds, .p99Milliseconds, .longestMilliseconds: 1...3_600_000
        case .durationMilliseconds, .waitMilliseconds, .lingerMilliseconds: 0...3_600_000
        }
    }

    /// Whether only whole numbers make sense.
    var isWhole: Bool {
        switch self {
        case .share: false
        default: true
        }
    }

    /// The problem of a value; `nil`: none.
    func problem(with value: Double) -> String? {
        guard range.contains(value), !isWhole || value == value.rounded() else {
            let bounds = isWhole ? "\(Int(range.lowerBound)) to \(Int(range.upperBound))" : "0 to 1"
            return isWhole ? "must be a whole number, \(bounds)" : "must be \(bounds)"
        }
        // The two that a wedged connection is known to answer.
        if self == .status, value != 403, value != 500 { return "must be 403 or 500" }
        return nil
    }

    /// What it means, in a few words.
    var explanation: String {
        switch self {
        case .share: "share of connections, pushes or device tokens that it befalls"
        case .after: "pushes on the connection before it happens, at least"
        case .spread: "up to so many more pushes, drawn"
        case .connections: "the most connections that play it; 0: no limit"
        case .every: "pushes from one change to the next"
        case .length: "pushes in a row that it befalls"
        case .factor: "growth of the limit with each step"
        case .held: "requests that are open when it happens"
        case .refusals: "pushes that are refused before it happens"
        case .streamLimit: "SETTINGS_MAX_CONCURRENT_STREAMS at the most"
        case .windowBytes: "SETTINGS_INITIAL_WINDOW_SIZE"
        case .stepBytes: "bytes of each WINDOW_UPDATE"
        case .headerBytes: "bytes of additional headers in an answer"
        case .errorCode: "HTTP/2 error code"
        case .status: "403 (ExpiredProviderToken) or 500 (InternalServerError)"
        case .abrupt: "1: with a TCP RST; 0: with a FIN"
        case .retryAfterSeconds: "value of Retry-After; 0: no such header"
        case .ageSeconds: "age of the answer's timestamp"
        case .intervalSeconds: "the shortest time between two provider tokens on a connection"
        case .everyMilliseconds: "time from one to the next"
        case .durationMilliseconds: "how long it lasts"
        case .waitMilliseconds: "how long it waits for that"
        case .lingerMilliseconds: "time from GOAWAY to the end of the connection"
        case .medianMilliseconds: "half of the answers take no longer"
        case .p99Milliseconds: "99 of 100 answers take no longer"
        case .longestMilliseconds: "no answer takes longer"
        }
    }
}
