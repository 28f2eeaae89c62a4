import GRDB

/// The tables of the embedded store.
///
/// Migrations are append-only: one that was released never changes, and what comes later is a migration of its own,
/// with a test that opens a store of each version before it.
enum Schema {
    /// Brings a database to this version: an empty one, or one of an earlier version.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { db in
            for sql in tables { try db.execute(sql: sql) }
        }
        // The check of all foreign keys at the end would read the whole store, for a table that is empty.
        migrator.registerMigration("platforms of messages", foreignKeyChecks: .immediate) { db in
            try db.execute(sql: messagePlatforms)
        }
        migrator.registerMigration("figures by time", foreignKeyChecks: .immediate) { db in
            for sql in [traffic, topicDays] { try db.execute(sql: sql) }
        }
        return migrator
    }

    /// The tables of the first version, with what they refer to before them.
    private static let tables = [
        meta, projects, registrations, registrationClock, registrationChanges, registrationAudit, formerRegistrations,
        imports, topics, subscriptions, deviceGroups, installations, messages, messageLists,
        idempotencyKeys, workers, fanOuts, pending, addressMoves, ledger, messageSums, receipts, deliveryDays, channels,
        apiKeys,
        serviceAccounts, operators, auditLog, events, webhooks, links, messageLinks, clicks, referrals,
        retention, endedSingles,
    ]
}
