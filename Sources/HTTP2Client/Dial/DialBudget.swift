import Synchronization

/// The dial budget of one endpoint, for all its pools, whatever their loops and credentials: the peer counts the dials of
/// a sender, not those of a pool. Each pool that opens brings the dials that it may do in a burst, so that many pools can
/// open their connections at once; what comes after is one dial for all of them at a time.
final class EndpointDialBudget: Sendable {
    private let budget: Mutex<DialBudget>

    /// A budget without pools.
    ///
    /// - Parameter interval: the least time after which one more dial is allowed.
    init(interval: Duration) {
        budget = Mutex(DialBudget(burst: 0, interval: interval))
    }

    /// A pool that may do `burst` dials at once begins, or (negative) ends.
    func widen(by burst: Int) { budget.withLock { $0.widen(by: burst) } }

    /// Takes up to `count` dials, as many as are allowed now.
    func take(upTo count: Int, at now: Instant, using random: inout some RandomNumberGenerator) -> Int {
        budget.withLock { budget in
            let taken = min(count, budget.available(at: now, using: &random))
            for _ in 0..<taken { budget.take(at: now, using: &random) }
            return taken
        }
    }

    /// When a dial is allowed again; `nil`: now.
    var heldUntil: Instant? { budget.withLock { $0.heldUntil } }
}

/// How often an endpoint may be dialed, whatever becomes of the connections: a token bucket. A value; the time and the random
/// source are parameters.
///
/// A connection that proves itself and is then told to go away is no failure, so no pause follows it. Without a budget
/// a peer that does that to each connection would be dialed as fast as it can answer, which Apple takes for an attack.
struct DialBudget {
    private var burst: Int
    private let interval: Int64
    private var tokens: Int
    /// When the next token comes, while some are missing.
    private var nextToken = Instant(nanoseconds: .max)

    /// - Parameters:
    ///   - burst: dials that are allowed at once.
    ///   - interval: the least time after which one more is allowed.
    init(burst: Int, interval: Duration) {
        self.burst = max(0, burst)
        self.interval = min(max(0, interval.wholeNanoseconds), .max / 2)
        tokens = self.burst
    }

    /// Allows `more` dials at once, which are there at once; or fewer.
    mutating func widen(by more: Int) {
        burst = max(0, burst + more)
        tokens = min(max(0, tokens) + max(0, more), burst)
    }

    /// Dials that are allowed now.
    mutating func available(at now: Instant, using random: inout some RandomNumberGenerator) -> Int {
        while tokens < burst, nextToken <= now {
            tokens += 1
            nextToken = nextToken.adding(nanoseconds: pause(using: &random))
        }
        return tokens
    }

    /// When a dial is allowed again; `nil`: now.
    var heldUntil: Instant? { tokens > 0 ? nil : nextToken }

    /// Takes one of the ``available(at:using:)`` dials.
    mutating func take(at now: Instant, using random: inout some RandomNumberGenerator) {
        precondition(tokens > 0, "a dial beyond the budget")
        if tokens == burst { nextToken = now.adding(nanoseconds: pause(using: &random)) }
        tokens -= 1
    }

    /// Up to half more than the interval, so that many senders do not come back at the same instant.
    private func pause(using random: inout some RandomNumberGenerator) -> Int64 {
        interval + Int64.random(in: 0...(interval / 2), using: &random)
    }
}
