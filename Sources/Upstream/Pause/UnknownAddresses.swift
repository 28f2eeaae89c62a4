import PushModel

/// Which of the addresses that a service says it does not know are taken for dead. Services have said it in bursts of addresses
/// that live, so one answer counts only where few get it, and otherwise the second after an hour; where most get it, the
/// service is broken and none counts (webpush.md §5). A value without clock or I/O.
struct UnknownAddresses {
    /// So high is the share of these answers, of all, below which one is enough.
    static let fewShare = 0.05
    /// From this share on the service is taken for broken, once there are so many answers.
    static let brokenShare = 0.5
    static let brokenAtLeast = 20
    /// How far back answers count, and how far apart two of one address must lie.
    static let window: Duration = .seconds(3600)
    /// The most addresses that are remembered; further ones are as if it were the first time.
    static let limit = 50_000
    /// The window moves in so many steps.
    private static let steps: Int64 = 12

    private struct Slice {
        let number: Int64
        var answers = 0
        var unknown = 0
    }

    private var slices: [Slice] = []
    /// When each address was first answered so, since it was last accepted.
    private var firstSeen: [Address: Duration] = [:]

    /// Whether an acceptance has anything to be told of.
    var isEmpty: Bool { firstSeen.isEmpty }

    /// Counts answers that came now, those to unknown addresses among them.
    mutating func count(answers: Int, unknown: Int, at now: Duration) {
        let number = now.wholeMilliseconds / (Self.window.wholeMilliseconds / Self.steps)
        slices.removeAll { $0.number <= number - Self.steps }
        if slices.last?.number != number { slices.append(Slice(number: number)) }
        slices[slices.count - 1].answers += answers
        slices[slices.count - 1].unknown += unknown
    }

    /// The service took a push to the address.
    mutating func accepted(_ address: Address) { firstSeen[address] = nil }

    /// Whether an address that the service does not know is taken for dead. The answer was counted.
    mutating func isDead(_ address: Address, at now: Duration) -> Bool {
        let answers = slices.reduce(0) { $0 + $1.answers }
        let unknown = slices.reduce(0) { $0 + $1.unknown }
        guard Double(unknown) >= Self.fewShare * Double(answers) else {
            firstSeen[address] = nil
            return true
        }
        if answers >= Self.brokenAtLeast, Double(unknown) >= Self.brokenShare * Double(answers) { return false }
        guard let first = firstSeen[address] else {
            if firstSeen.count < Self.limit { firstSeen[address] = now }
            return false
        }
        guard now - first >= Self.window else { return false }
        firstSeen[address] = nil
        return true
    }
}
