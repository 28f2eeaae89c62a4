import HTTP2Client
import JSON
import PushModel

/// What one exchange means: for the push an outcome, for the upstream a sign of how it is doing.
struct Answer {
    /// What became of the push.
    let outcome: Outcome
    /// What it says about the upstream.
    let sign: UpstreamSign
    /// What it says about credential, topic, device and load.
    let meaning: AnswerMeaning

    /// A status that says accepted (RFC 9110 §15.3) and that APNs does not document: anything from 201 to 299.
    let unusualSuccess: Int?

    /// Reads how a request ended.
    ///
    /// - Parameter now: wall time when it ended, for a `retry-after` that is a date.
    init(_ exchange: Exchange, at now: Timestamp) {
        switch exchange {
        case .answered(let response):
            outcome = Self.outcome(of: response, at: now)
            sign = UpstreamSign(status: response.status, reason: outcome.apnsReason)
            meaning = AnswerMeaning(status: response.status, outcome: outcome)
            unusualSuccess = (201...299).contains(response.status) ? response.status : nil
        case .notSent(let failure):
            outcome = .notSent(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
            meaning = .nothing
            unusualSuccess = nil
        case .unanswered(let failure):
            outcome = .unknown(TransportCause(rawValue: failure.kind.rawValue))
            sign = UpstreamSign(failure)
            meaning = .nothing
            unusualSuccess = nil
        }
    }

    /// APNs' reason when the table does not know it; `nil` otherwise, also when APNs gave none.
    var unknownReason: APNSReason? {
        guard let reason = outcome.apnsReason, APNSReasonTable.row(of: reason) == nil else { return nil }
        return reason
    }

    private static func outcome(of response: Response, at now: Timestamp) -> Outcome {
        if (200...299).contains(response.status) { return .accepted }
        let error = ErrorBody(response.body)
        return Outcome(
            status: response.status, reason: error.reason, timestamp: error.timestamp,
            retryAfter: pause(of: response, at: now))
    }

    /// Nobody may pause a delivery for longer.
    private static let longestPause: Duration = .seconds(3600)

    /// `retry-after` in seconds or as a date (RFC 9110 §10.2.3). A date is held against the answer's own, when that was
    /// kept, so that a wrong clock here does no harm.
    private static func pause(of response: Response, at now: Timestamp) -> Duration? {
        guard let text = response.header("retry-after") else { return nil }
        if let seconds = Int64(text) {
            return seconds < 0 ? nil : min(.seconds(min(seconds, 86_400)), longestPause)
        }
        guard let end = HTTPDate.time(of: text, now: now) else { return nil }
        let start = response.header("date").flatMap { HTTPDate.time(of: $0, now: now) } ?? now
        return min(max(.zero, end - start), longestPause)
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
        reason = value["reason"]?.stringValue.flatMap(Self.reason)
        if case .number(let digits)? = value["timestamp"] {
            timestamp = Self.milliseconds(digits).map(Timestamp.init(milliseconds:))
        } else {
            timestamp = nil
        }
    }

    /// The longest reason that is kept; Apple's have up to 27 characters.
    private static let longestReason = 64

    /// A reason goes into logs, reports and the ledger, whoever sent it: what is no printable ASCII shows as `?`.
    private static func reason(_ text: String) -> APNSReason? {
        guard !text.isEmpty else { return nil }
        let isPlain = text.utf8.count <= longestReason && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
        if isPlain { return APNSReason(rawValue: text) }
        let scalars = text.unicodeScalars.prefix(longestReason)
        return APNSReason(rawValue: String(scalars.map { (" "..."~").contains($0) ? Character($0) : "?" }))
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
