import PushModel

/// Sees when a receiver fails about as often as it takes something: then one delivery a minute tries whether it is well
/// again. A value without a clock.
struct CircuitBreaker: Hashable, Sendable {
    /// Attempts that count.
    static let count = 20
    /// How far back they may lie.
    static let window: Duration = .seconds(300)
    /// The rest between two tries.
    static let rest: Duration = .seconds(60)

    private(set) var isOpen = false
    private var results: [Result] = []

    private struct Result: Hashable, Sendable {
        let time: Timestamp
        let isFailure: Bool
    }

    /// The receiver took something: whatever it did before, it is well.
    mutating func succeeded(at time: Timestamp) {
        guard isOpen else { return add(Result(time: time, isFailure: false)) }
        isOpen = false
        results = []
    }

    /// The receiver failed.
    mutating func failed(at time: Timestamp) {
        guard !isOpen else { return }
        add(Result(time: time, isFailure: true))
        let recent = results.filter { time - $0.time <= Self.window }
        isOpen = recent.count == Self.count && recent.count(where: \.isFailure) * 2 >= Self.count
    }

    private mutating func add(_ result: Result) {
        if results.count == Self.count { results.removeFirst() }
        results.append(result)
    }
}
