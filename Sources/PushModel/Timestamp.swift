/// A point in wall time, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Wall time is only for values that are stored or sent (accept time, `iat`, `apns-expiration`); waiting is done on a
/// `Clock`. The value says nothing of where it came from: code that needs "now" takes a ``WallTime`` as a parameter.
package struct Timestamp: Hashable, Sendable {
    /// Milliseconds since the epoch, negative before it.
    package var milliseconds: Int64

    /// Makes the time that lies `milliseconds` after the epoch.
    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Makes the time that lies `seconds` after the epoch.
    package init(seconds: Int64) {
        self.milliseconds = seconds * 1000
    }

    /// Whole seconds since the epoch, rounded down: the unit of `iat` and `apns-expiration`.
    package var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    }
}

extension Timestamp: Comparable {
    /// Whether `lhs` is earlier than `rhs`.
    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
        lhs.milliseconds < rhs.milliseconds
    }
}

extension Timestamp {
    /// The time `duration` after `time`, to the millisecond, rounded down.
    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds + duration.wholeMilliseconds)
    }

    /// The time that passed from `earlier` to `later`.
    package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        .milliseconds(later.milliseconds - earlier.milliseconds)
    }
}

extension Duration {
    /// The duration in milliseconds, rounded toward zero.
    package var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

/// Where wall time comes from: the system clock in the daemon, a dial that the test turns in tests.
package typealias WallTime = @Sendable () -> Timestamp
