/// Notices that wait to be sent, at most one in an interval: one that is the same as another that waits goes with it. A
/// value without clock.
struct CoalescedNotices {
    /// The most different ones that wait; further ones make one that says everything may have changed.
    static let limit = 100
    /// Between two of one payload.
    static let separator: Character = ","
    /// The notice that stands for all.
    static let everything = "*"

    private let interval: Duration
    private var waiting: Set<String> = []
    private var next: ContinuousClock.Instant?

    init(interval: Duration) {
        self.interval = interval
    }

    /// Takes a notice.
    ///
    /// - Returns: whether it is the first one that waits.
    mutating func add(_ notice: String) -> Bool {
        let isFirst = waiting.isEmpty
        if waiting.count >= Self.limit { waiting = [Self.everything] }
        waiting.insert(notice)
        return isFirst
    }

    /// Time until something is to be sent; `nil`: nothing waits.
    func delay(at now: ContinuousClock.Instant) -> Duration? {
        guard !waiting.isEmpty else { return nil }
        return max(.zero, next.map { $0 - now } ?? .zero)
    }

    /// Takes out what is to be sent now, as one payload.
    mutating func take(at now: ContinuousClock.Instant) -> String? {
        guard let delay = delay(at: now), delay == .zero else { return nil }
        next = now + interval
        defer { waiting.removeAll() }
        return waiting.sorted().joined(separator: String(Self.separator))
    }

    /// The notices of a payload.
    static func notices(of payload: String) -> Set<String> {
        Set(payload.split(separator: separator).map(String.init))
    }
}
