import Synchronization

/// Whose quota a 429 is about that does not say so: while fewer than one in a hundred of the last seconds' pushes get one it
/// is that of single devices, otherwise that of the sender. Safe to share.
package final class QuotaWatch: Sendable {
    private struct Counts {
        var sent = 0
        var refused = 0
    }

    private struct State {
        var second: Int64 = 0
        var present = Counts()
        var last = Counts()

        mutating func turn(to now: Int64) {
            guard now != second else { return }
            last = now == second + 1 ? present : Counts()
            present = Counts()
            second = now
        }
    }

    private let uptime: Uptime
    private let state = Mutex(State())

    /// Nothing was sent yet.
    package init(uptime: @escaping Uptime) {
        self.uptime = uptime
    }

    /// Pushes set out.
    package func sent(_ count: Int) {
        let now = uptime().components.seconds
        state.withLock { state in
            state.turn(to: now)
            state.present.sent += count
        }
    }

    /// One was answered 429: whether that is for its device alone.
    package func isOfDevice() -> Bool {
        let now = uptime().components.seconds
        return state.withLock { state in
            state.turn(to: now)
            state.present.refused += 1
            return (state.present.refused + state.last.refused) * 100 < state.present.sent + state.last.sent
        }
    }
}
