import PushModel

/// How far the gateway's clock and the service's are apart, by the `date` of its answers. A value without clock or I/O.
///
/// `date` has whole seconds (RFC 9110 §5.6.7) and the answer takes a moment to arrive, so the figure is good to a
/// second or so: enough, as a provider token may be an hour old.
struct ClockSkew {
    /// What to tell the operator.
    enum Action: Hashable {
        case tell(Duration)
        case tellEnd(Duration)
    }

    /// A skew of more than this is told.
    static let tolerance: Duration = .seconds(60)
    /// It is over below this; the distance keeps a skew at the limit from being told time and again.
    static let calm: Duration = .seconds(50)
    /// Answers are looked at so often.
    static let sampleInterval: Duration = .seconds(1)

    /// The gateway's clock minus the service's, to the second; `nil`: not known yet.
    private(set) var skew: Duration?
    private var isTold = false
    private var sampledAt: Duration?

    /// Whether the last sample is old enough for another.
    func wantsSample(at now: Duration) -> Bool {
        guard let sampledAt else { return true }
        return now - sampledAt >= Self.sampleInterval
    }

    /// Whether the clocks are too far apart for provider tokens to be trusted.
    var isLarge: Bool {
        guard let skew else { return false }
        return Self.magnitude(skew) > Self.tolerance
    }

    /// An answer with this `date` came when our clock showed `received`.
    mutating func sample(date: Timestamp, received: Timestamp, at now: Duration) -> Action? {
        sampledAt = now
        let new = Duration.seconds(received.seconds - date.seconds)
        skew = new
        if !isTold, Self.magnitude(new) > Self.tolerance {
            isTold = true
            return .tell(new)
        }
        if isTold, Self.magnitude(new) < Self.calm {
            isTold = false
            return .tellEnd(new)
        }
        return nil
    }

    private static func magnitude(_ duration: Duration) -> Duration {
        duration < .zero ? .zero - duration : duration
    }
}
