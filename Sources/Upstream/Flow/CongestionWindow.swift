/// How many pushes may be in flight: all, until the service says that it is overloaded. A value without clock or I/O.
///
/// Additive increase, multiplicative decrease, as TCP does it (RFC 5681): half as many after an overload, at most once
/// a second because the answers of one round trip are one piece of news; and with every round of good answers a few
/// more, until there is no need for a limit. After a pause, when nothing is known of the load, a round doubles the
/// limit.
///
/// Where one push at a time is too much there is more than load: the service fails. Then nothing goes for a while,
/// which doubles with each try that fails, from a second to a minute; the first good answer ends that.
struct CongestionWindow {
    /// Between two decreases.
    static let decreaseInterval: Duration = .seconds(1)
    /// What a round of good answers adds at most; a smaller limit is doubled.
    static let step = 16.0
    /// A limit that has grown to this is none. Also the most that there is to double.
    static let ceiling = 10_000.0
    /// What may be in flight right after a pause.
    static let restart = 8.0

    /// The rest after the first failure of one push at a time.
    static let firstRest: Duration = .seconds(1)
    /// The longest rest.
    static let longestRest: Duration = .seconds(60)

    /// The longest rest that a service can ask for: what it asks beyond is asked again by then.
    static let longestAskedRest: Duration = .seconds(900)

    /// The rest when the service slows this sender down and asks for none…
    static let firstSlowRest: Duration = .seconds(60)
    /// …doubled when it does so again within that time after it, up to this.
    static let longestSlowRest: Duration = .seconds(900)

    /// Pushes in flight.
    private(set) var inFlight = 0
    /// The last rest, while no good answer has come since.
    private var lastRest: Duration?
    /// The most that may be in flight, at least 1; `nil`: no limit.
    private var window: Double?
    /// Below this a round doubles the limit: the last one that was too much is further away.
    private var threshold = CongestionWindow.ceiling
    private var decreasedAt: Duration?
    private var slowRest: Duration?
    /// When the last rest of that kind is over.
    private var slowUntil: Duration = .zero
    /// The service asked to be left alone until then.
    private(set) var notBefore: Duration?

    /// The most that may be in flight; `nil`: no limit.
    var limit: Int? { window.map { Int($0) } }

    /// How many more may go now.
    var room: Int {
        guard let limit else { return .max }
        return max(0, limit - inFlight)
    }

    /// How many bulk pushes may go now: they leave an eighth to the interactive ones, which must not wait until theirs
    /// come back.
    var bulkRoom: Int {
        guard let limit else { return .max }
        return max(0, limit - limit / 8 - inFlight)
    }

    /// How long the service wants to be left alone; `nil`: not at all.
    func rest(at now: Duration) -> Duration? {
        guard let notBefore, now < notBefore else { return nil }
        return notBefore - now
    }

    /// Whether one push at a time goes, to see if the service answers well again.
    var isTrying: Bool { lastRest != nil }

    /// `count` pushes go.
    mutating func enter(_ count: Int) {
        inFlight += count
    }

    /// `count` pushes are back, `good` of them with an answer that does not speak of load.
    mutating func leave(_ count: Int, good: Int) {
        precondition(count <= inFlight, "\(count) of \(inFlight) pushes are back")
        inFlight -= count
        guard good > 0 else { return }
        lastRest = nil
        guard let window else { return }
        let perRound = window < threshold ? window : min(Self.step, window)
        let grown = window + Double(good) * perRound / window
        self.window = grown >= Self.ceiling ? nil : grown
        if self.window == nil { threshold = Self.ceiling }
    }

    /// The service is overloaded, and wants to be left alone for `after`. Comes before the ``leave(_:good:)`` of the
    /// answers that said so.
    mutating func overloaded(after: Duration?, at now: Duration) {
        if let after, after > .zero {
            notBefore = max(notBefore ?? now, now + min(after, Self.longestAskedRest))
        }
        if let decreasedAt, now - decreasedAt < Self.decreaseInterval { return }
        decreasedAt = now
        if let window, window <= 1, after ?? .zero == .zero {
            let rest = lastRest.map { min($0 * 2, Self.longestRest) } ?? Self.firstRest
            lastRest = rest
            notBefore = max(notBefore ?? now, now + rest)
        }
        let present = window ?? Double(max(inFlight, 1))
        let halved = max(1, present / 2)
        window = halved
        threshold = halved
    }

    /// The service slows this sender down, and asks for no time. Answers that come during the rest are the same news.
    mutating func slowedDown(at now: Duration) {
        if now < slowUntil { return }
        let again = slowRest.flatMap { now < slowUntil + $0 ? min($0 * 2, Self.longestSlowRest) : nil }
        let rest = again ?? Self.firstSlowRest
        slowRest = rest
        slowUntil = now + rest
        notBefore = max(notBefore ?? now, slowUntil)
    }

    /// A pause is over, or it is not clear whether there will be one: what comes now comes slowly.
    mutating func restartSlowly() {
        window = min(window ?? Self.restart, Self.restart)
    }
}
