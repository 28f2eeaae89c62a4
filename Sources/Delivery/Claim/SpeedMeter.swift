import PushModel

/// How fast a lane claims when it can: counted over the times between claims that follow one another closely, so that a
/// lane with little to do does not look slow.
struct SpeedMeter {
    /// A longer time between two claims is a rest.
    private static let longestStep: Duration = .milliseconds(250)
    /// With less there is nothing to go by, with more the past counts half.
    private static let (least, most): (Duration, Duration) = (.milliseconds(20), .seconds(5))

    private var count = 0.0
    private var busy: Duration = .zero
    private var last: Timestamp?

    /// Counts `count` at `now`.
    mutating func add(_ count: Int, at now: Timestamp) {
        defer { last = now }
        guard let last, now >= last, now - last <= Self.longestStep else { return }
        self.count += Double(count)
        busy += now - last
        if busy > Self.most {
            self.count /= 2
            busy /= 2
        }
    }

    /// How many in a second; `nil`: not known yet.
    var rate: Double? {
        busy >= Self.least && count > 0 ? count * 1000 / Double(busy.wholeMilliseconds) : nil
    }
}
