import PushModel
import Store

/// The counters of links within one transaction.
struct LinkCountTable {
    let db: any Database

    static let addition = """
        INSERT INTO link_count (link, day, platform, event, count)
        SELECT id, ?2, ?3, ?4, ?5 FROM link WHERE id = ?1 AND state <> 2
        ON CONFLICT (link, day, platform, event) DO UPDATE SET count = link_count.count + excluded.count
        """
    static let ofLink = """
        SELECT day, platform, event, count FROM link_count WHERE link = ? AND day BETWEEN ? AND ?
        ORDER BY day, platform, event
        """
    static let sums = "SELECT event, sum(count) FROM link_count WHERE link = ? GROUP BY event"
    static let forget = """
        DELETE FROM link_count WHERE (link, day, platform, event) IN (
            SELECT link, day, platform, event FROM link_count INDEXED BY link_count_by_day WHERE day < ? LIMIT ?)
        """

    func add(_ counts: [LinkCount]) throws {
        let addition = try db.statement(Self.addition)
        for count in counts where count.count > 0 {
            addition.bind(count.link.rawValue)
            for number in [count.day, count.platform.rawValue, count.event.rawValue, count.count] {
                addition.bind(number)
            }
            try addition.post()
        }
    }

    func counts(of link: LinkID, days: ClosedRange<Int>) throws -> [LinkCount] {
        let arguments: SQLArguments = [link.rawValue, days.lowerBound, days.upperBound]
        return try db.rows(Self.ofLink, arguments).map { row in
            guard let platform = LinkPlatform(rawValue: row[1]), let event = LinkEvent(rawValue: row[2]) else {
                throw StoreError.invalid("a counter of a link")
            }
            return LinkCount(link: link, day: row[0], platform: platform, event: event, count: row[3])
        }
    }

    /// The counters of a link by event, all days and platforms together.
    func sums(of link: LinkID) throws -> [LinkEvent: Int] {
        let rows = try db.rows(Self.sums, [link.rawValue])
        return try rows.reduce(into: [:]) { sums, row in
            guard let event = LinkEvent(rawValue: row[0]) else { throw StoreError.invalid("a counter of a link") }
            sums[event] = row[1]
        }
    }
}
