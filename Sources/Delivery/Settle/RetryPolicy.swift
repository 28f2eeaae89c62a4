import PushModel

/// When an attempt that did not end a delivery is repeated: not before `floor`, and from there spread at random over
/// `spread`, so that a thousand pushes that failed together do not come back together.
struct RetryWindow: Hashable {
    /// The wait that is always kept.
    var floor: Duration
    /// What chance adds to it, at most.
    var spread: Duration

    /// The window after attempt number `attempt` (from 1) of its kind ended as `setback`, see
    /// ``AttemptHistory/attempts(like:)``.
    ///
    /// `spread` is full jitter over an exponential: 1 s × 2^(attempt − 1) up to the cap. The floor is the larger of the
    /// row's and what the service asked for.
    ///
    /// | setback                          | floor  | spread after attempt 1, 2, 3, … | cap    |
    /// |----------------------------------|--------|---------------------------------|--------|
    /// | throttled, load of the address   | 5 s    | 1 s, 2 s, 4 s, …                | 15 min |
    /// | throttled, load of the service   | 2 s    | 1 s, 2 s, 4 s, …                | 15 min |
    /// | throttled, connection closing    | 0      | 1 s, 2 s, 4 s, …                | 1 min  |
    /// | throttled, connection refused    | 0 (1)  | 100 ms, 2 s, 4 s, …             | 15 min |
    /// | throttled, any other             | 1 s    | 1 s, 2 s, 4 s, …                | 15 min |
    /// | throttled, with a first wait (2) | 5 s, 10 s, 20 s, … | 10 s, 20 s, 40 s, … | 10 min |
    /// | held back by the gateway         | 100 ms | 5 s                             | 5 s    |
    /// | unknown or notSent, shutdown     | 0      | 0                               | 0      |
    /// | unknown, any other               | 1 s    | 1 s, 2 s, 4 s, …                | 15 min |
    /// | notSent, no_route                | 15 s   | 1 s, 2 s, 4 s, …                | 1 min  |
    /// | notSent, message_unreadable      | 5 s    | 1 s, 2 s, 4 s, …                | 1 min  |
    /// | notSent, any other               | 100 ms | 1 s, 2 s, 4 s, …                | 1 min  |
    ///
    /// (1) for its token or credential, or because it was idle; 1 s from the second attempt on.
    /// (2) of 10 s, see ``Refusal/firstWait``: 10 s, 20 s, 40 s, … and half of that more or less.
    static func after(_ setback: Setback, attempt: Int) -> RetryWindow {
        let (floor, cap) = bounds(setback)
        switch setback {
        case .held:
            return RetryWindow(floor: floor, spread: cap)
        case .throttled(let refusal, let after) where attempt <= 1 && refusal.scope.refusesConnection:
            // Once, at once: there are new connections. If they do not help, the upstream is paused.
            return RetryWindow(floor: after ?? .zero, spread: .milliseconds(100))
        case .unknown(let cause) where cause.isInterruption, .notSent(let cause) where cause.isInterruption:
            // The gateway itself stopped it: the upstream has nothing to recover from.
            return RetryWindow(floor: .zero, spread: .zero)
        case .throttled(let refusal, let after):
            guard let first = refusal.firstWait else { break }
            let wait = min(first * doublings(attempt), longestDoubledWait)
            return RetryWindow(floor: max(wait / 2, after ?? .zero), spread: wait)
        case .unknown, .notSent: break
        }
        return RetryWindow(floor: floor, spread: min(.seconds(1) * doublings(attempt), cap))
    }

    /// A ``Refusal/firstWait`` is doubled up to this.
    private static let longestDoubledWait: Duration = .seconds(600)

    /// 1, 2, 4, … 2^20, which is beyond every cap.
    private static func doublings(_ attempt: Int) -> Int { 1 << min(max(attempt, 1) - 1, 20) }

    private static func bounds(_ setback: Setback) -> (floor: Duration, cap: Duration) {
        switch setback {
        case .throttled(let refusal, let after):
            let own: (floor: Duration, cap: Duration) =
                switch refusal.scope {
                case .load(.address): (.seconds(5), .seconds(900))
                case .load(.service): (.seconds(2), .seconds(900))
                case .connection(.closing): (.zero, .seconds(60))
                case .push, .addressDead, .addressDoubtful, .topic, .credential, .connection, .load:
                    (.seconds(1), .seconds(900))
                }
            return (max(own.floor, after ?? .zero), own.cap)
        case .held(_, let after): return (max(.milliseconds(100), after ?? .zero), .seconds(5))
        case .unknown: return (.seconds(1), .seconds(900))
        case .notSent(.noRoute): return (.seconds(15), .seconds(60))
        case .notSent(.messageUnreadable): return (.seconds(5), .seconds(60))
        case .notSent: return (.milliseconds(100), .seconds(60))
        }
    }

    /// The wait for one delivery. `random` lies in `0 ..< 1`.
    ///
    /// - Parameter limit: the latest moment that still makes sense; the spread is cut to it.
    /// - Returns: `nil` when even the floor lies beyond `limit`.
    func delay(random: Double, within limit: Duration) -> Duration? {
        guard floor <= limit else { return nil }
        let spread = min(spread, limit - floor)
        return floor + .milliseconds(Int64(Double(spread.wholeMilliseconds) * random))
    }
}

/// The ways in which an attempt leaves a delivery open.
enum Setback: Hashable {
    /// The service says: later.
    case throttled(Refusal, after: Duration?)
    /// The gateway held the push back: later. The service saw nothing of it.
    case held(Refusal, after: Duration?)
    /// Provably not processed.
    case notSent(TransportCause)
    /// Sent, no answer.
    case unknown(TransportCause)

    /// What stands in the ledger if the delivery ends for lack of time.
    var cause: String {
        switch self {
        case .throttled(let refusal, _), .held(let refusal, _): refusal.reason.rawValue
        case .notSent(let cause), .unknown(let cause): cause.rawValue
        }
    }

    /// Whether it was sent and got no answer.
    var isUnknown: Bool {
        switch self {
        case .unknown: true
        case .throttled, .held, .notSent: false
        }
    }

    /// Whether the service may have processed the push. It has not looked at it when it refused the connection.
    var reachedPeer: Bool {
        switch self {
        case .throttled(let refusal, _): !refusal.scope.stopsAtConnection
        case .unknown: true
        case .held, .notSent: false
        }
    }
}

extension TransportCause {
    /// Whether the gateway itself cut the attempt off: it says nothing of the upstream.
    var isInterruption: Bool { self == .shutdown || self == .interrupted }
}

extension Refusal.Scope {
    /// Whether it refuses the connection and its credential, so that the same push may pass on another one at once.
    fileprivate var refusesConnection: Bool {
        switch self {
        case .connection(.tokenExpired), .connection(.credential), .connection(.idle): true
        case .push, .addressDead, .addressDoubtful, .topic, .credential, .connection, .load: false
        }
    }

    /// Whether the service refused the connection and did not look at the push.
    fileprivate var stopsAtConnection: Bool {
        switch self {
        case .connection(.misdirected): false
        case .connection: true
        case .push, .addressDead, .addressDoubtful, .topic, .credential, .load: false
        }
    }
}

/// How long to leave a failing store alone.
enum StoreBackoff {
    /// The wait after `failures` (from 1) in a row: half of it fixed, half by chance (`random` in `0 ..< 1`).
    ///
    /// | failures | 1            | 2            | 3            | … | 7 and more |
    /// |----------|--------------|--------------|--------------|---|------------|
    /// | wait     | 50 – 100 ms  | 100 – 200 ms | 200 – 400 ms | … | 2.5 – 5 s  |
    static func delay(failures: Int, random: Double) -> Duration {
        let ceiling = min(5000, 100 << min(max(failures, 1) - 1, 10))
        return .milliseconds(Int64(Double(ceiling) * (0.5 + random / 2)))
    }
}
