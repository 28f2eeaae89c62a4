import JSON
package import PushModel
package import Store

extension SQLStore {
    /// Sums that settlements and receipts keep, and the open work of messages that are not complete.
    package func deliveryDays(
        of app: AppID, on platform: Platform?, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryDay> {
        let place = try cursor.map { text throws(StoreError) in try DeliveryDayPlace(cursor: text) }
        return try await read { db in
            let apps = try AppTable(db: db).ids(project, app, on: platform)
            guard limit > 0, !apps.isEmpty else { return ResultPage(elements: [], nextCursor: nil) }
            let reader = DeliveryDayReader(db: db, project: project, app: app, platform: platform, apps: apps)
            return try reader.page(before: place ?? .start, limit: limit)
        }
    }
}

/// Where a day stands in the list: the newest day first, in it the labels in descending order.
private struct DeliveryDayPlace: Hashable {
    let day: Int64
    /// Empty: none.
    let label: String

    /// Before all days.
    static let start = DeliveryDayPlace(day: .max, label: "")

    init(day: Int64, label: String) {
        self.day = day
        self.label = label
    }

    /// Reads a cursor that ``cursor`` wrote.
    init(cursor: String) throws(StoreError) {
        let parts = Base64URL.bytes(cursor).flatMap { String(validating: $0, as: UTF8.self) }?
            .split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard let parts, parts.count == 3, parts[0] == "day", let day = Int64(parts[1]),
            parts[2].isEmpty || AnalyticsLabel(rawValue: parts[2]) != nil
        else { throw StoreError(.badCursor, "The page token is not one that this list gave out.") }
        self.init(day: day, label: parts[2])
    }

    var cursor: String { Base64URL.text("day \(day) \(label)".utf8) }

    func isBehind(_ other: DeliveryDayPlace) -> Bool { (day, label) < (other.day, other.label) }
}

/// Reads the days of the apps of one id, or of one of them, within one snapshot.
struct DeliveryDayReader {
    let db: any Database
    let project: ProjectID
    let app: AppID
    /// `nil`: of each that has an app with the id.
    let platform: Platform?
    let apps: [Int64]

    static let ended = """
        SELECT day, label, sum(CASE outcome WHEN 'accepted' THEN count ELSE 0 END),
            sum(CASE outcome WHEN 'rejected' THEN count ELSE 0 END),
            sum(CASE outcome WHEN 'expired' THEN count ELSE 0 END),
            sum(CASE outcome WHEN 'cancelled' THEN count ELSE 0 END), sum(CASE is_displayed WHEN 1 THEN count ELSE 0 END),
            (SELECT count FROM received_day r WHERE r.app = ?1 AND r.day = d.day AND r.label = d.label)
        FROM delivery_day d WHERE app = ?1 AND (day, label) < (?2, ?3)
        GROUP BY day, label ORDER BY day DESC, label DESC LIMIT ?4
        """
    /// Open deliveries with a row of their own: as many steps as the project has.
    static let waiting = """
        SELECT m.accepted_at / 86400000, coalesce(m.label, ''), m.is_displayed, count(*), t.channel
        FROM message m INDEXED BY message_open CROSS JOIN pending p ON p.message = m.seq
        CROSS JOIN route t ON t.id = p.route
        WHERE m.project = ?1 AND m.state <> 'COMPLETE' AND m.completed_at IS NULL AND t.project = ?1 AND t.app = ?2
        GROUP BY 1, 2, 3, 5
        """
    /// Open deliveries that their messages name as claimed.
    static let claimed = """
        SELECT m.accepted_at / 86400000, coalesce(m.label, ''), m.is_displayed, count(*), t.channel
        FROM message m INDEXED BY message_open CROSS JOIN route t ON t.id = m.route
        WHERE m.project = ?1 AND m.state <> 'COMPLETE' AND m.worker IS NOT NULL AND t.project = ?1 AND t.app = ?2
        GROUP BY 1, 2, 3, 5
        """
    /// Open deliveries of fan-outs.
    static let pages = """
        SELECT p.id, p.open, p.interruptions, p.settled, p.keys, m.accepted_at, m.label, m.is_displayed
        FROM message m INDEXED BY message_open CROSS JOIN page p ON p.message = m.seq
        WHERE m.project = ? AND m.state <> 'COMPLETE' AND m.completed_at IS NULL
        """

    fileprivate func page(before place: DeliveryDayPlace, limit: Int) throws -> ResultPage<DeliveryDay> {
        var days = try endedDays(before: place, limit: limit + 1)
        try addOpen(to: &days, before: place)
        let order = days.keys.sorted { $1.isBehind($0) }.prefix(limit + 1)
        let next = order.count > limit ? order[limit - 1].cursor : nil
        return ResultPage(elements: order.prefix(limit).compactMap { days[$0] }, nextCursor: next)
    }

    private func endedDays(before place: DeliveryDayPlace, limit: Int) throws -> [DeliveryDayPlace: DeliveryDay] {
        var days: [DeliveryDayPlace: DeliveryDay] = [:]
        for app in apps {
            let rows = try db.cursor(Self.ended, [app, place.day, place.label, limit])
            while let row = try rows.next() {
                let place = DeliveryDayPlace(day: row[0], label: row[1])
                var day = days[place] ?? DeliveryDay(day: place.day, label: AnalyticsLabel(rawValue: place.label))
                let ended: [LedgerOutcome: Int] = [
                    .accepted: row[2], .rejected: row[3], .expired: row[4], .cancelled: row[5],
                ]
                day.ended.merge(ended, uniquingKeysWith: +)
                day.displayed += row[6]
                day.received += row[7] ?? 0
                days[place] = day
            }
        }
        return days
    }

    /// A day that is beyond the page is not complete here, and not on the page either: those before it are enough.
    private func addOpen(to days: inout [DeliveryDayPlace: DeliveryDay], before place: DeliveryDayPlace) throws {
        func add(_ count: Int, day: Int64, label: String, isDisplayed: Bool) {
            let found = DeliveryDayPlace(day: day, label: label)
            guard count > 0, found.isBehind(place) else { return }
            var sum = days[found] ?? DeliveryDay(day: day, label: AnalyticsLabel(rawValue: label))
            sum.inFlight += count
            if isDisplayed { sum.displayed += count }
            days[found] = sum
        }
        for sql in [Self.waiting, Self.claimed] {
            let rows = try db.cursor(sql, [project.rawValue, app.rawValue])
            while let row = try rows.next() {
                guard try platform == nil || Channel(stored: row[4]).platform == platform else { continue }
                add(row[3], day: row[0], label: row[1], isDisplayed: row[2])
            }
        }
        var keyApps = KeyApps(db: db)
        let pages = try db.cursor(Self.pages, [project.rawValue])
        while let row = try pages.next() {
            let kind = DeliveryDaySums.Kind(acceptedAt: row[5], label: row[6], isDisplayed: row[7])
            let count = try OpenPage(row: row).open.count { key in
                try keyApps.app(of: key, in: project.rawValue).map(apps.contains) ?? false
            }
            add(count, day: kind.day, label: kind.label, isDisplayed: kind.isDisplayed)
        }
    }
}
