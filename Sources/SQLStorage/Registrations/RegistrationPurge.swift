import PushModel
import Store

/// The end of a registration's life, within one transaction each.
struct RegistrationPurge {
    let time: Timestamp
    let limit: Int

    static let ended = """
        SELECT key FROM registration INDEXED BY registration_ended
        WHERE ended_at IS NOT NULL AND ended_at < ?1 AND key NOT IN (SELECT registration FROM pending)
            AND key NOT IN (SELECT registration FROM message INDEXED BY message_claimed WHERE worker > 0)
        ORDER BY ended_at, key LIMIT ?2
        """
    static let keep = """
        INSERT INTO former_registration (key, fid, app, last_message)
        SELECT r.key, r.fid, r.app, coalesce((SELECT seq FROM numbering WHERE name = 'message'), 0) FROM registration r
        WHERE r.key = ?1 AND r.ended_at < ?2
        ON CONFLICT DO NOTHING
        """
    static let remove = "DELETE FROM registration WHERE key = ?1 AND ended_at < ?2"

    /// What ended before. A delivery that waits for a time keeps its registration; for one that ended there are no new
    /// deliveries.
    func candidates(_ db: any Database) throws -> [Int64] {
        try db.numbers(Self.ended, [time.milliseconds, limit])
    }

    func remove(_ keys: [Int64], _ db: any Database) throws -> Int {
        var count = 0
        for key in keys {
            try db.change(Self.keep, [key, time.milliseconds])
            count += try db.change(Self.remove, [key, time.milliseconds])
        }
        return count
    }

    func purgeAudit(_ db: any Database) throws {
        let limit = time.milliseconds - SQLStore.auditDays * 86_400_000
        try db.change(
            """
            DELETE FROM registration_audit WHERE id IN (
                SELECT id FROM registration_audit INDEXED BY registration_audit_time WHERE time < ?1 LIMIT ?2)
            """, [limit, self.limit])
    }
}
