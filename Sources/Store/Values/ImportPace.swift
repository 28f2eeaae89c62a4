/// How an import shares the writer of a store with a gateway in another process.
package struct ImportPace: Hashable, Sendable {
    /// How long a transaction should take.
    package let chunkTime: Duration
    /// How long nothing is written after it; zero: not at all.
    package let rest: Duration

    /// Puts a pace together.
    package init(chunkTime: Duration, rest: Duration) {
        self.chunkTime = chunkTime
        self.rest = rest
    }

    /// The size of the next chunk after one of `size` rows that took so long: at most double, at least half.
    package func size(after size: Int, took duration: Duration, limit: Int) -> Int {
        let share = chunkTime / max(duration, .microseconds(1))
        return min(limit, max(50, Int(Double(size) * min(2, max(0.5, share)))))
    }
}
