package import PushModel
package import Store

/// When an endpoint is asked, and when it is given up: a value that is told what happens and answers what to do, without
/// clock and I/O.
///
/// One delivery is under way at a time. An attempt that fails is made again after the rest of ``RetrySchedule``, or of the
/// ``CircuitBreaker``, which uses up no attempt. What fails for ``disablingTime`` without one success between is disabled: an
/// attempt is made at that very time. An endpoint that gets nothing fails at nothing.
package struct DeliverySchedule: Sendable {
    /// How many dead letters in a row may fail again before the rest of them stay where they are.
    package static let failedRevivals = 3
    /// How long an endpoint may fail.
    package static let disablingTime: Duration = .seconds(5 * 86_400)
    /// Shares of it, in percent, at which its project is told.
    package static let warnings = [50, 70, 90]

    private enum Phase: Hashable {
        /// The next delivery may begin. Next: inFlight.
        case ready
        /// A delivery failed and rests. Next: inFlight at that time, ready when its owner changes something.
        case resting(until: Timestamp)
        /// A request is under way. Next: ready, resting, disabled.
        case inFlight
        /// Given up. Next: nothing; what is enabled again gets a new schedule.
        case disabled
    }

    /// What to do when there is something to send.
    package enum Start: Hashable, Sendable {
        case send
        case wait(until: Timestamp)
    }

    /// What follows from an attempt that failed.
    package enum Verdict: Hashable, Sendable {
        /// The same again at that time.
        case retry(at: Timestamp)
        /// The event goes to the dead letters, the next one may begin.
        case giveUp
        /// Nothing more is sent.
        case disable
    }

    /// Why an attempt failed, as far as the schedule has to know.
    package struct Failure: Hashable, Sendable {
        /// What the receiver asks for.
        package var retryAfter: Duration?
        /// Whether the receiver says that it is gone.
        package var isGone: Bool

        /// Describes a failure.
        package init(retryAfter: Duration? = nil, isGone: Bool = false) {
            self.retryAfter = retryAfter
            self.isGone = isGone
        }
    }

    private var phase: Phase
    private var breaker = CircuitBreaker()
    /// Attempts of the present delivery that failed.
    package private(set) var attempts: Int
    /// Since when every attempt has failed.
    package private(set) var failingSince: Timestamp?
    /// The warning that was given last.
    package private(set) var warned: Int

    /// Goes on where a position stands.
    package init(_ position: WebhookPosition) {
        attempts = position.attempts
        failingSince = position.failingSince
        warned = position.warned
        phase = position.nextAttemptAt.map { .resting(until: $0) } ?? .ready
    }

    /// Before it nothing is tried.
    package var nextAttemptAt: Timestamp? {
        switch phase {
        case .resting(let time): time
        case .ready, .inFlight, .disabled: nil
        }
    }

    /// Whether the endpoint failed lately.
    package var isFailing: Bool { failingSince != nil }

    /// Whether tries are made one a minute.
    package var isBreakerOpen: Bool { breaker.isOpen }

    /// There is something to send. `.send`: a request is under way from now on.
    package mutating func begin(at now: Timestamp) -> Start {
        switch phase {
        case .resting(let time) where now < time: return .wait(until: time)
        case .ready, .resting:
            phase = .inFlight
            return .send
        case .inFlight, .disabled: preconditionFailure("a delivery begins in phase \(phase)")
        }
    }

    /// The request was taken.
    package mutating func succeeded(at now: Timestamp) {
        guard phase == .inFlight else { preconditionFailure("a success in phase \(phase)") }
        phase = .ready
        (attempts, failingSince, warned) = (0, nil, 0)
        breaker.succeeded(at: now)
    }

    /// The request failed.
    ///
    /// - Parameters:
    ///   - isDroppable: whether the delivery may be given up; batches are not.
    ///   - isRevival: whether it was given up before: it is tried once, so that live events do not wait for it.
    ///   - random: from 0 up to 1.
    /// - Returns: what to do, and the share of the time until the endpoint is disabled that its project is to be told of.
    package mutating func failed(
        _ failure: Failure, isDroppable: Bool, isRevival: Bool = false, at now: Timestamp, random: Double
    ) -> (verdict: Verdict, warning: Int?) {
        guard phase == .inFlight else { preconditionFailure("a failure in phase \(phase)") }
        let since = failingSince ?? now
        failingSince = since
        let end = since + Self.disablingTime
        if failure.isGone || now >= end {
            phase = .disabled
            warned = 100
            return (.disable, 100)
        }
        let warning = warning(after: now - since)
        breaker.failed(at: now)
        if isRevival {
            (phase, attempts) = (.ready, 0)
            return (.giveUp, warning)
        }
        if breaker.isOpen {
            // A try, or the attempt that showed that tries are needed: neither uses up the schedule.
            return (rest(until: min(now + CircuitBreaker.rest, end)), warning)
        }
        attempts += 1
        if isDroppable, attempts >= RetrySchedule.attempts {
            phase = .ready
            attempts = 0
            return (.giveUp, warning)
        }
        let rest = RetrySchedule.rest(after: attempts, retryAfter: failure.retryAfter, random: random)
        return (self.rest(until: min(now + rest, end)), warning)
    }

    private mutating func rest(until time: Timestamp) -> Verdict {
        phase = .resting(until: time)
        return .retry(at: time)
    }

    private mutating func warning(after failing: Duration) -> Int? {
        let percent = Int(failing.wholeMilliseconds * 100 / Self.disablingTime.wholeMilliseconds)
        guard let reached = Self.warnings.last(where: { $0 <= percent }), reached > warned else { return nil }
        warned = reached
        return reached
    }
}
