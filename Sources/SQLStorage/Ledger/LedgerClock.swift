import Logging
import PushModel
import Store

/// The time of recording: kept in the store, and moved forward by what is recorded and by exports. It goes back only from
/// a time that a wrong clock gave, see ``SQLStore/clampTimes(to:)``.
struct LedgerClock {
    let db: any Database

    func now() throws -> Timestamp {
        Timestamp(milliseconds: try db.number("SELECT value FROM meta WHERE name = 'ledger_clock'") ?? 0)
    }

    /// The time of the clock; `nil`: nothing was recorded yet.
    func lastRecordedAt() throws -> Timestamp? {
        let time = try now()
        return time.milliseconds > 0 ? time : nil
    }

    /// Moves the clock to `time` unless it is past it.
    ///
    /// - Returns: the time of the clock now.
    func advance(to time: Timestamp) throws -> Timestamp { try advance(to: time, from: now()) }

    /// As ``advance(to:)``, for who has read the clock in this transaction.
    func advance(to time: Timestamp, from now: Timestamp) throws -> Timestamp {
        guard now < time else { return now }
        try db.post("UPDATE meta SET value = ? WHERE name = 'ledger_clock'", [time.milliseconds])
        return time
    }

    /// Moves the clock back to `time`.
    func setBack(to time: Timestamp) throws {
        try db.change("UPDATE meta SET value = least(value, ?) WHERE name = 'ledger_clock'", [time.milliseconds])
    }
}
