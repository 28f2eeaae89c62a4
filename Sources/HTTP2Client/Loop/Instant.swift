import Glibc

/// A point on the monotonic clock, in nanoseconds: 64 bits, because the hot path compares and adds them per request.
struct Instant: Comparable, Hashable, Sendable {
    let nanoseconds: Int64

    init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The monotonic clock's now.
    static func now() -> Instant {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    func adding(_ duration: Duration) -> Instant { adding(nanoseconds: duration.wholeNanoseconds) }

    func adding(nanoseconds: Int64) -> Instant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return Instant(nanoseconds: overflow ? .max : sum)
    }

    /// From `earlier` to this; never negative.
    func elapsed(since earlier: Instant) -> Int64 { max(0, nanoseconds - earlier.nanoseconds) }
}

extension Duration {
    /// In nanoseconds, cut off at what 64 bits hold.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? .max : sum
    }
}
