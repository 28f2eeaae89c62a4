import GRDB
import Store

// Version 11: what interrupted a delivery, and whom a fan-out passed by.

extension Schema {
    /// Like every version, it does not change after its release.
    static func migratePassing(_ db: Database) throws {
        try db.execute(sql: interruptions)
        try db.execute(sql: passedOver)
    }

    /// `pending.interruptions`: those of the unknown attempts that the gateway itself cut off. Of rows that were written
    /// before, the last cause tells; at worst they are tried a little sooner than they were to be.
    private static let interruptions = """
        ALTER TABLE pending ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0
            CHECK (interruptions BETWEEN 0 AND unknown_attempts);
        UPDATE pending SET interruptions = unknown_attempts WHERE last_cause = 'interrupted';
        """

    /// Registrations that a shard came by and did not claim, by cause, as of its cursor.
    private static let passedOver = """
        ALTER TABLE fan_out ADD COLUMN passed_ended INTEGER NOT NULL DEFAULT 0 CHECK (passed_ended >= 0);
        ALTER TABLE fan_out ADD COLUMN passed_quarantined INTEGER NOT NULL DEFAULT 0 CHECK (passed_quarantined >= 0);
        ALTER TABLE fan_out ADD COLUMN passed_stale INTEGER NOT NULL DEFAULT 0 CHECK (passed_stale >= 0);
        """
}
