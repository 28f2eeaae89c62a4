import HTTP2Client
import PushModel

/// What one exchange means: for the push an outcome, for the upstream a sign of how it is doing.
struct Answer {
    /// What became of the push.
    let outcome: Outcome
    /// What it says about the upstream.
    let sign: UpstreamSign

    /// Reads how a request ended.
    init(_ exchange: Exchange) {
        switch exchange {
        case .answered(let response):
            outcome = Self.outcome(of: response)
            sign = UpstreamSign(status: response.status, reason: outcome.apnsReason)
        case .notSent(let failure):
            outcome = .notSent(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
        case .unanswered(let failure):
            outcome = .unknown(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
        }
    }

    private static func outcome(of response: Response) -> Outcome {
        let error = response.status == 200 ? nil : ErrorBody(response.body)
        return Outcome(
            status: response.status, reason: error?.reason, timestamp: error?.timestamp,
            retryAfter: pause(of: response))
    }

    /// Nobody may pause a delivery for longer.
    private static let longestPause: Duration = .seconds(3600)

    /// `retry-after` in seconds (RFC 9110 §10.2.3). Its other form, a date, is ignored: APNs sends neither today, and
    /// deliveries have a delay of their own.
    private static func pause(of response: Response) -> Duration? {
        guard let text = response.header("retry-after"), let seconds = Int64(text), seconds >= 0 else { return nil }
        return min(.seconds(min(seconds, 86_400)), longestPause)
    }
}

/// The body of a refusal: `{"reason":"Unregistered","timestamp":1700000000000}`. Proxies and dying servers answer with
/// other bodies or none, so either part may be missing.
private struct ErrorBody {
    let reason: APNSReason?
    let timestamp: Timestamp?

    init(_ body: [UInt8]) {
        guard let value = Self.parsed(body) else {
            reason = nil
            timestamp = nil
            return
        }
        reason = value["reason"]?.stringValue.flatMap { $0.isEmpty ? nil : APNSReason(rawValue: $0) }
        if case .number(let digits)? = value["timestamp"] {
            timestamp = Self.milliseconds(digits).map(Timestamp.init(milliseconds:))
        } else {
            timestamp = nil
        }
    }

    private static func parsed(_ body: [UInt8]) -> JSONValue? {
        guard !body.isEmpty else { return nil }
        do {
            return try JSONValue(parsing: body)
        } catch {
            // Not JSON: the status alone decides.
            return nil
        }
    }

    private static func milliseconds(_ digits: String) -> Int64? {
        Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0.rounded(.towardZero)) }
    }
}

extension Outcome {
    /// Apple's reason, when APNs refused the push.
    fileprivate var apnsReason: APNSReason? {
        switch self {
        case .rejected(let reason, _), .throttled(let reason, _): reason
        case .accepted, .notSent, .unknown: nil
        }
    }
}
