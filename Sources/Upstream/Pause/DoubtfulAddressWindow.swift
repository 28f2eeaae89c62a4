import PushModel

/// When a share of refused addresses is taken for registrations in the wrong environment.
package struct DoubtfulAddressLimits: Hashable, Sendable {
    /// The share of answers, above 0 up to 1, that stops an app's pushes.
    package var share = 0.5
    /// So many answers there must be in the window, at least 1.
    package var atLeast = 100
    /// How far back answers count, 1 s to 1 h.
    package var window: Duration = .seconds(60)

    /// The usual limits.
    package init() {}
}

/// The answers to the pushes of one app to one environment over the last minute or so, and how many of them
/// refused the address. A value without clock or I/O.
struct DoubtfulAddressWindow {
    /// What the window holds.
    struct Count: Hashable {
        var answers = 0
        var bad = 0
    }

    private struct Slice {
        let number: Int64
        var count: Count
    }

    /// The window moves in so many steps.
    private static let steps: Int64 = 12

    private let limits: DoubtfulAddressLimits
    private var slices: [Slice] = []

    init(limits: DoubtfulAddressLimits) {
        self.limits = limits
    }

    /// Counts answers that came now.
    ///
    /// - Returns: the window, when the share in it is too high; it begins anew then.
    mutating func count(_ new: Count, at now: Duration) -> Count? {
        let step = max(1, limits.window.wholeMilliseconds / Self.steps)
        let number = now.wholeMilliseconds / step
        slices.removeAll { $0.number <= number - Self.steps }
        if let last = slices.indices.last, slices[last].number == number {
            slices[last].count.answers += new.answers
            slices[last].count.bad += new.bad
        } else {
            slices.append(Slice(number: number, count: new))
        }
        guard new.bad > 0 else { return nil }
        let sum = slices.reduce(into: Count()) { sum, slice in
            sum.answers += slice.count.answers
            sum.bad += slice.count.bad
        }
        guard sum.answers >= limits.atLeast, Double(sum.bad) >= limits.share * Double(sum.answers) else { return nil }
        slices = []
        return sum
    }

    /// Forgets what was counted.
    mutating func reset() {
        slices = []
    }
}
