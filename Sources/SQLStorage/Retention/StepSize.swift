/// How many rows one step of a removal takes: as many as took a few milliseconds the time before.
struct StepSize: Hashable, Sendable {
    /// What a step may take of the writer.
    static let longest: Duration = .milliseconds(5)
    /// The most rows, however fast they are.
    static let largest = 2000

    /// Rows of the next step.
    private(set) var rows = 64

    /// Learns from a step: half as many rows after one that was too long, a quarter more after a short one that was not
    /// the last.
    mutating func adapt(to elapsed: Duration, wasFull: Bool) {
        if elapsed > Self.longest {
            rows = max(1, rows / 2)
        } else if wasFull, elapsed < Self.longest / 2 {
            rows = min(Self.largest, rows + rows / 4 + 1)
        }
    }
}
