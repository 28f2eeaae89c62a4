import PushModel

/// Whether pushes are held back because the service refused some for a reason that meets the others too, and when one
/// of them is let through to see whether it has passed. A value without clock or I/O.
///
/// Every dispatch has a generation, a number that grows with each probe: so an answer that was under way when the
/// pause began or ended is told from that of the probe.
struct SendPause {
    /// Why it began, and when.
    struct Cause: Hashable {
        let refusal: Refusal
        let since: Timestamp
    }

    /// Whether a push may go.
    enum Passage: Hashable {
        /// It may.
        case free
        /// It may, as a probe: ``probe(generation:)`` follows.
        case probe
        /// It may not, for this long at least.
        case held(Refusal, after: Duration)
    }

    /// What an answer says.
    enum Finding: Hashable {
        /// What the pause is for is over.
        case passed
        /// It is not.
        case refused(Refusal)
        /// Nothing: the push got no answer, or one about something else.
        case inconclusive
    }

    /// What follows from an answer.
    enum Change: Hashable {
        case none
        case began(Cause)
        case ended(Cause)
    }

    /// From the beginning of a pause to the first probe.
    static let firstInterval: Duration = .seconds(30)
    /// The longest time between two probes.
    static let longestInterval: Duration = .seconds(300)
    /// A push that somebody waits for may be a probe earlier: after this part of the time until the next one is due, so
    /// 1 s after the pause began and at most 10 s after the last probe.
    static let awaitedPart = 30
    /// How long pushes wait while a probe is on its way.
    static let answerTime = HoldRest.answerTime

    private enum Phase {
        /// Everything goes. Refusals of dispatches before `generation` are late news. Next: waiting.
        case open(since: Int)
        /// Nothing goes before `probeAt`, then one push. Next: probing.
        case waiting(Cause, interval: Duration, probeAt: Duration)
        /// One push is on its way. Next: open, waiting.
        case probing(Cause, interval: Duration, generation: Int)
    }

    private var phase = Phase.open(since: 0)

    /// Whether everything goes.
    var isOpen: Bool {
        switch phase {
        case .open: true
        case .waiting, .probing: false
        }
    }

    /// Whether there was no probe yet.
    var isBeforeFirstProbe: Bool {
        switch phase {
        case .waiting(_, let interval, _): interval == Self.firstInterval
        case .open, .probing: false
        }
    }

    /// Why pushes are held back; `nil`: they are not.
    var cause: Cause? {
        switch phase {
        case .open: nil
        case .waiting(let cause, _, _), .probing(let cause, _, _): cause
        }
    }

    /// What pushes wait for.
    enum Waiting: Hashable {
        /// The time of the next probe.
        case until(Duration)
        /// The answer to a probe.
        case answer
    }

    /// What pushes wait for; `nil`: everything goes.
    var waitingState: Waiting? {
        switch phase {
        case .open: nil
        case .waiting(_, _, let probeAt): .until(probeAt)
        case .probing: .answer
        }
    }

    /// Why a push of a dispatch with this generation, admitted before, is not to go after all, and for how long;
    /// `nil`: it is, as one of those that are free or as the probe.
    func objection(to generation: Int, at now: Duration) -> (refusal: Refusal, after: Duration)? {
        switch phase {
        case .open: nil
        case .waiting(let cause, _, let probeAt): (cause.refusal, max(.zero, probeAt - now))
        case .probing(_, _, let probe) where probe == generation: nil
        case .probing(let cause, _, _): (cause.refusal, Self.answerTime)
        }
    }

    /// Why pushes are held back, and in what time the next probe may go; `nil`: they are not.
    func pause(at now: Duration) -> (cause: Cause, nextProbe: Duration)? {
        switch phase {
        case .open: nil
        case .waiting(let cause, _, let probeAt): (cause, max(.zero, probeAt - now))
        case .probing(let cause, _, _): (cause, .zero)
        }
    }

    /// Whether a push may go now.
    ///
    /// - Parameter isAwaited: whether somebody waits for what becomes of it: then it need not wait for the next probe,
    ///   it is the next one.
    func passage(at now: Duration, isAwaited: Bool = false) -> Passage {
        switch phase {
        case .open: .free
        case .waiting(_, _, let probeAt) where now >= probeAt: .probe
        case .waiting(_, let interval, let probeAt)
        where isAwaited && now >= probeAt - interval + interval / Self.awaitedPart: .probe
        case .waiting(let cause, _, let probeAt): .held(cause.refusal, after: probeAt - now)
        case .probing(let cause, _, _): .held(cause.refusal, after: Self.answerTime)
        }
    }

    /// A push goes as a probe, with this generation; only when ``passage(at:)`` said so.
    mutating func probe(generation: Int) {
        switch phase {
        case .waiting(let cause, let interval, _):
            phase = .probing(cause, interval: interval, generation: generation)
        case .open, .probing:
            preconditionFailure("a probe in phase \(phase)")
        }
    }

    /// Something changed here that may end the refusals: the next push is a probe.
    mutating func hasten(at now: Duration) {
        switch phase {
        case .waiting(let cause, _, let probeAt):
            phase = .waiting(cause, interval: Self.firstInterval, probeAt: min(now, probeAt))
        case .open, .probing: break
        }
    }

    /// A push of this generation was answered.
    mutating func answered(_ finding: Finding, generation: Int, at now: Duration, wallTime: Timestamp) -> Change {
        switch (phase, finding) {
        case (.open(let since), .refused(let refusal)) where generation >= since:
            let cause = Cause(refusal: refusal, since: wallTime)
            wait(cause, Self.firstInterval, from: now)
            return .began(cause)
        case (.probing(let cause, _, let probe), .passed) where probe == generation:
            phase = .open(since: generation)
            return .ended(cause)
        case (.probing(let cause, let interval, let probe), .refused(let refusal)) where probe == generation:
            wait(Cause(refusal: refusal, since: cause.since), min(interval * 2, Self.longestInterval), from: now)
            return .none
        case (.probing(let cause, let interval, let probe), .inconclusive) where probe == generation:
            wait(cause, interval, from: now)
            return .none
        case (.open, _), (.waiting, _), (.probing, _):
            return .none
        }
    }

    private mutating func wait(_ cause: Cause, _ interval: Duration, from now: Duration) {
        phase = .waiting(cause, interval: interval, probeAt: now + interval)
    }
}

extension SendPause {
    /// What the pause holds back; `nil`: it is none.
    var rest: HoldRest? {
        switch waitingState {
        case nil: nil
        case .until(let time): HoldRest(until: time, limit: 1)
        case .answer: HoldRest(until: .zero, isTrying: true, limit: 1)
        }
    }
}
