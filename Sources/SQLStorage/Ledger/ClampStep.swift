import Logging
package import PushModel
package import Store

extension SQLStore {
    /// Sets back what a clock that was far ahead has left: the time of recording and that of what was recorded with it, and
    /// the times of refreshes, which would keep registrations from ending.
    ///
    /// It asks two rows, and nearly always that is all. Otherwise everything that was recorded after `now` is recorded at
    /// `now`, a few hundred rows in a transaction, and the last of these sets the clock of the ledger back: an export that
    /// was asked for meanwhile reads after that. What this leaves when it fails is done with the next call. What was
    /// recorded ahead is in the exports of now, once, unless an export up to that time was asked for while the clock was
    /// wrong.
    ///
    /// A clock that is behind by hours makes the store look the same, so nothing is changed when something was recorded in
    /// the two hours after `now` too: a clock that jumped ahead leaves a gap there.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    package func clampTimes(to now: Timestamp) async throws(StoreError) -> Bool {
        guard try await timesAhead(of: now).isAny else { return false }
        await clamping.enter()
        defer { clamping.leave() }
        let ahead = try await timesAhead(of: now)
        guard ahead.isAny else { return false }
        logger.warning(
            "times in the store are far ahead of the clock and are set back",
            metadata: ["ledger": "\(ahead.isLedger)", "registrations": "\(ahead.isRegistrations)"])
        if ahead.isLedger { try await clampLedger(to: now) }
        if ahead.isRegistrations { try await clampRefreshes(to: now) }
        return true
    }

    private func timesAhead(of now: Timestamp) async throws(StoreError) -> FutureTimes.Found {
        try await read { db in try FutureTimes(db: db, now: now).found() }
    }

    private func clampLedger(to now: Timestamp) async throws(StoreError) {
        while try await write(rows: FutureTimes.step, { db in try FutureTimes(db: db, now: now).clampReceipts() }) {}
        var event: Int64? = .max
        while let last = event {
            event = try await write(rows: FutureTimes.step) { db in
                try FutureTimes(db: db, now: now).clampEvents(before: last)
            }
        }
        var next: Int64? = try await read { db in try FutureTimes(db: db, now: now).firstBlock() }
        while let block = next {
            next = try await write(rows: FutureTimes.step) { db in
                try FutureTimes(db: db, now: now).clampLedger(from: block)
            }
        }
    }

    /// Looks at all registrations beside the writer: no index holds their times.
    private func clampRefreshes(to now: Timestamp) async throws(StoreError) {
        var next: Int64? = 0
        while let after = next {
            let part = try await read { db in try FutureTimes(db: db, now: now).refreshes(after: after) }
            if !part.keys.isEmpty {
                try await write(rows: part.keys.count) { db in
                    for key in part.keys { try FutureTimes(db: db, now: now).clampRefresh(of: key) }
                }
            }
            next = part.next
        }
        try await write { db in try FutureTimes(db: db, now: now).clampRegistrationClock() }
    }
}

/// Times in the store that no clock which is right now can have given, within one transaction.
struct FutureTimes {
    let db: any Database
    let now: Timestamp

    /// A clock that is set back by less has its steps made up for by those who give the times.
    static let tolerance: Duration = .seconds(2 * 3600)
    /// Rows that are changed in one transaction, at most.
    static let step = 500
    /// Registrations that are looked at in one snapshot.
    private static let lookStep: Int64 = 20_000

    static let clocks = """
        SELECT (SELECT value FROM meta WHERE name = 'ledger_clock'),
            (SELECT value FROM meta WHERE name = 'registration_clock')
        """
    static let nextHours = """
        SELECT 1 FROM project p CROSS JOIN ledger_hour h WHERE h.project = p.name AND h.hour BETWEEN ? AND ? LIMIT 1
        """
    static let firstBlock = """
        SELECT min(h.first_id) FROM project p CROSS JOIN ledger_hour h WHERE h.project = p.name AND h.hour >= ?
        """
    static let blocks = "SELECT id, project, recorded_at FROM ledger_block WHERE id >= ? ORDER BY id LIMIT \(step)"
    static let receipts = """
        UPDATE receipt SET recorded_at = ?1 WHERE id IN (
            SELECT r.id FROM project p CROSS JOIN receipt r INDEXED BY receipt_by_project
            WHERE r.project = p.name AND r.recorded_at > ?1 LIMIT ?2)
        """
    static let events = "SELECT number, time FROM event WHERE number < ? ORDER BY number DESC LIMIT \(step)"
    static let refreshes = """
        SELECT key FROM registration WHERE key > ? AND key <= ? AND refreshed_at > ? ORDER BY key LIMIT \(step)
        """
    static let clampRefresh = """
        UPDATE registration SET refreshed_at = ?1, created_at = least(created_at, ?1)
        WHERE key = ?2 AND refreshed_at > ?3
        """

    private var latest: Timestamp { now + Self.tolerance }

    /// What is ahead.
    struct Found: Sendable {
        var isLedger = false
        var isRegistrations = false

        var isAny: Bool { isLedger || isRegistrations }
    }

    func found() throws -> Found {
        guard let row = try db.row(Self.clocks, []) else { return Found() }
        let found = Found(
            isLedger: (row[0] ?? 0) > latest.milliseconds, isRegistrations: (row[1] ?? 0) > latest.milliseconds)
        guard found.isAny else { return found }
        // What was recorded in the very next hours as well says that those times are right and that of now is not.
        let hours = [LedgerHour.hour(of: now) + 1, LedgerHour.hour(of: latest)]
        return try db.number(Self.nextHours, [hours[0], hours[1]]) == nil ? found : Found()
    }

    /// A block before which none was recorded after now.
    func firstBlock() throws -> Int64 {
        try db.number(Self.firstBlock, [LedgerHour.hour(of: now)]) ?? 1
    }

    /// Records some blocks anew, in the order of their ids, so that times of recording never go back from block to block.
    /// When they were the last ones, sets the clock back.
    ///
    /// - Returns: where to go on; `nil`: all is done.
    func clampLedger(from block: Int64) throws -> Int64? {
        let rows = try db.rows(Self.blocks, [block])
        var moved: [String: ClosedRange<Int64>] = [:]
        for row in rows where row[2] > now.milliseconds {
            let (id, project): (Int64, String) = (row[0], row[1])
            try db.change("UPDATE ledger_block SET recorded_at = ? WHERE id = ?", [now.milliseconds, id])
            moved[project] = (moved[project]?.lowerBound ?? id)...id
        }
        let hour = LedgerHour.hour(of: now)
        for (project, ids) in moved {
            try LedgerBlockTable(db: db).extend(hour: hour, try ProjectID(stored: project), ids)
        }
        if rows.count == Self.step, let last = rows.last { return 1 + (last[0] as Int64) }
        try db.change(Self.receipts, [now.milliseconds, Int64.max])
        try db.change("DELETE FROM ledger_hour WHERE hour > ?", [hour])
        // What was settled meanwhile had the clock that is set back now.
        try db.change("UPDATE event SET time = ?1 WHERE time > ?1", [now.milliseconds])
        try LedgerClock(db: db).setBack(to: now)
        return nil
    }

    /// Records some receipts anew.
    ///
    /// - Returns: whether there was one.
    func clampReceipts() throws -> Bool {
        try db.change(Self.receipts, [now.milliseconds, Self.step]) > 0
    }

    /// Sets back the times of some events, from the newest on.
    ///
    /// - Returns: where to go on; `nil`: what comes before is not ahead.
    func clampEvents(before number: Int64) throws -> Int64? {
        let rows = try db.rows(Self.events, [number])
        let ahead = rows.filter { $0[1] > now.milliseconds }
        for row in ahead {
            try db.change("UPDATE event SET time = ? WHERE number = ?", [now.milliseconds, row[0] as Int64])
        }
        return ahead.isEmpty ? nil : rows.last?[0]
    }

    /// Some registrations that were refreshed ahead, and where to look next; `nil`: at none.
    func refreshes(after key: Int64) throws -> (keys: [Int64], next: Int64?) {
        let end = key + Self.lookStep
        let keys = try db.numbers(Self.refreshes, [key, end, latest.milliseconds])
        if keys.count == Self.step, let last = keys.last { return (keys, last) }
        let last = try db.number("SELECT max(key) FROM registration") ?? 0
        return (keys, end < last ? end : nil)
    }

    func clampRefresh(of key: Int64) throws {
        try db.change(Self.clampRefresh, [now.milliseconds, key, latest.milliseconds])
    }

    func clampRegistrationClock() throws {
        try db.change("UPDATE meta SET value = least(value, ?) WHERE name = 'registration_clock'", [now.milliseconds])
    }
}
