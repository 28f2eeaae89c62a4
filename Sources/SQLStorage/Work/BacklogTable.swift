import Logging
import PushModel
import Store

/// What is waiting, within one snapshot.
struct Backlog {
    let db: any Database

    static let waiting = """
        SELECT count(*) FROM pending INDEXED BY pending_due WHERE lane = ? AND worker IS NULL AND is_held = 0
        """
    static let held = """
        SELECT count(*) FROM pending INDEXED BY pending_held WHERE lane = ? AND worker IS NULL AND is_held = 1
        """
    static let claimed = """
        SELECT count(*) FROM pending INDEXED BY pending_claimed WHERE worker IS NOT NULL AND lane = ?
        """
    static let claimedMessages = """
        SELECT count(*) FROM message INDEXED BY message_claimed WHERE worker IS NOT NULL AND lane = ?
        """
    static let inPages = "SELECT coalesce(sum(open), 0) FROM page INDEXED BY page_open"
    static let unclaimed = """
        SELECT coalesce(sum(greatest(0, expected - claimed)), 0) FROM fan_out INDEXED BY fan_out_unclaimed WHERE done = 0
        """

    /// Everything that fans out is in the bulk lane.
    func count(_ lane: Lane) throws -> Int {
        var count: Int64 = 0
        for sql in [Self.waiting, Self.held, Self.claimed, Self.claimedMessages] {
            count += try db.number(sql, [lane.code]) ?? 0
        }
        if lane == .bulk {
            for sql in [Self.inPages, Self.unclaimed] { count += try db.number(sql) ?? 0 }
        }
        return Int(count)
    }
}
