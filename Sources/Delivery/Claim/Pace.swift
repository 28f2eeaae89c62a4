import PushModel
import Store

/// How fast a message may be claimed: a token bucket without clock or I/O.
///
/// | the message says | tokens a second |
/// |---|---|
/// | `rate` | that many |
/// | `finishBy`, in the future | what is left to claim ÷ the time that is left |
/// | `finishBy`, in the past | no limit |
/// | neither | no limit |
///
/// With several gateways on the store each has its share of them: that many tokens divided by how many there are.
///
/// A claim waits until a tenth of a second's tokens are there (one at least, a page at most), so that a slow message
/// does not ask the store for each push. The bucket holds one second's tokens at most, and no more than a page. A claim
/// that brings more than was asked for leaves a debt.
struct Pace {
    /// What the message asks for.
    private let rate: Int?
    private let finishBy: Timestamp?
    /// How many gateways claim.
    private var nodes: Int
    /// Whether the message asks for one.
    var isLimited: Bool { rate != nil || finishBy != nil }
    /// What is left to claim, by the store's estimate less what was claimed since.
    private(set) var remaining: Int
    private var tokens: Double
    private var countedAt: Timestamp

    /// Starts with what one claim needs, so that the first pushes leave at once.
    init(_ fanOut: OpenFanOut, page: Int, nodes: Int = 1, at now: Timestamp) {
        self.nodes = nodes
        rate = fanOut.rate
        finishBy = fanOut.finishBy
        remaining = fanOut.remaining
        countedAt = now
        tokens = 0
        if let speed = speed(at: now) { tokens = quantum(speed, page) }
    }

    /// Takes over what the store says is left, and how many gateways claim it.
    mutating func refresh(_ fanOut: OpenFanOut, nodes: Int = 1) {
        remaining = fanOut.remaining
        self.nodes = nodes
    }

    /// When the fan-out ends by its pace; `nil`: it has none, or its time is over.
    func end(at now: Timestamp) -> Timestamp? {
        if let rate { return now + .seconds(Double(max(0, remaining)) / Double(max(1, rate))) }
        return finishBy.flatMap { $0 > now ? $0 : nil }
    }

    /// How many may be claimed at `now`, at most `page`; 0: none before ``ready(page:)``.
    mutating func room(page: Int, at now: Timestamp) -> Int {
        guard let speed = speed(at: now) else { return page }
        fill(speed, page, at: now)
        return tokens >= needed(speed, page) ? min(page, Int(tokens)) : 0
    }

    /// When the next claim may come, to the millisecond, after ``room(page:at:)`` gave 0.
    func ready(page: Int, at now: Timestamp) -> Timestamp {
        guard let speed = speed(at: now) else { return now }
        let wait = max(0, needed(speed, page) - tokens) / speed
        // Not beyond a day: the rate may grow meanwhile, and so may what is left.
        let milliseconds = Int64(min(wait * 1000, 86_400_000).rounded(.up))
        let ready = now + .milliseconds(max(1, milliseconds))
        return finishBy.map { min(ready, max($0, now + .milliseconds(1))) } ?? ready
    }

    /// `count` recipients were claimed.
    mutating func claimed(_ count: Int) {
        tokens -= Double(count)
        remaining = max(0, remaining - count)
    }

    /// A claim that took `limit` tokens ahead brought only `count`.
    mutating func returned(_ count: Int) {
        tokens += Double(count)
        remaining += count
    }

    private mutating func fill(_ speed: Double, _ page: Int, at now: Timestamp) {
        let seconds = Double(max(0, (now - countedAt).wholeMilliseconds)) / 1000
        countedAt = now
        tokens = min(tokens + speed * seconds, min(max(speed, 1), Double(page)))
    }

    /// Tokens a second; `nil`: no limit.
    private func speed(at now: Timestamp) -> Double? {
        if let rate { return Double(max(1, rate)) / Double(nodes) }
        guard let finishBy, finishBy > now else { return nil }
        return Double(max(1, remaining)) / (Double((finishBy - now).wholeMilliseconds) / 1000) / Double(nodes)
    }

    private func quantum(_ speed: Double, _ page: Int) -> Double {
        min(max(1, (speed / 10).rounded(.down)), Double(page))
    }

    /// The tokens that a claim waits for: no more than what is left.
    private func needed(_ speed: Double, _ page: Int) -> Double {
        min(quantum(speed, page), Double(max(1, remaining)))
    }
}
