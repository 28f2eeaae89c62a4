/// How often a pool may dial, whatever becomes of the connections: a token bucket. A value; the time and the random
/// source are parameters.
///
/// A connection that proves itself and is then told to go away is no failure, so no pause follows it. Without a budget
/// a peer that does that to each connection would be dialed as fast as it can answer, which Apple takes for an attack.
struct DialBudget {
    private let burst: Int
    private let interval: Int64
    private var tokens: Int
    /// When the next token comes, while some are missing.
    private var nextToken = Instant(nanoseconds: .max)

    /// - Parameters:
    ///   - burst: dials that are allowed at once, at least 1.
    ///   - interval: the least time after which one more is allowed.
    init(burst: Int, interval: Duration) {
        self.burst = max(1, burst)
        self.interval = min(max(0, interval.wholeNanoseconds), .max / 2)
        tokens = self.burst
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
