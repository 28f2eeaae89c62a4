import GRDB
import Store

// Version 8: installations, web subscriptions, and what devices report.

extension Schema {
    /// Makes the tables for what apps do on devices. Like every version, it does not change after its release.
    static func migrateDevices(_ db: Database) throws {
        try db.execute(sql: installations)
        try db.execute(sql: webSubscriptions)
        try db.execute(sql: receipts)
    }

    /// `registration` is the key of the registration that the installation made last, which may have ended or be purged,
    /// hence no foreign key. Of refresh and auth tokens only the SHA-256 is kept. A registration that ended can become
    /// active again, with its FID, when its installation registers again: `registration_revived` counts that.
    private static let installations = """
        CREATE TABLE installation (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            project TEXT NOT NULL,
            fid TEXT NOT NULL,
            app TEXT NOT NULL,
            sdk_version TEXT,
            refresh_digest BLOB NOT NULL CHECK (length(refresh_digest) = 32),
            registration INTEGER,
            created_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX installation_fid ON installation (fid);
        CREATE INDEX installation_of ON installation (registration) WHERE registration IS NOT NULL;
        CREATE INDEX installation_used ON installation (used_at);

        CREATE TABLE installation_token (
            digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
            installation INTEGER NOT NULL REFERENCES installation (id) ON DELETE CASCADE,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX installation_token_of ON installation_token (installation, expires_at);
        CREATE INDEX installation_token_expiry ON installation_token (expires_at);

        CREATE TRIGGER registration_revived AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NOT NULL AND new.ended_at IS NULL BEGIN
            INSERT INTO project (name, registrations) VALUES ((SELECT project FROM app WHERE id = new.app), 1)
                ON CONFLICT (name) DO UPDATE SET registrations = registrations + 1;
        END;
        """

    /// Where a browser is reached and how its pushes are encrypted, of active registrations of web apps. The device token
    /// of such a registration is the SHA-256 of the endpoint: so no browser is registered twice.
    private static let webSubscriptions = """
        CREATE TABLE web_subscription (
            registration INTEGER PRIMARY KEY REFERENCES registration (key) ON DELETE CASCADE,
            endpoint TEXT NOT NULL CHECK (length(endpoint) > 0),
            p256dh BLOB NOT NULL CHECK (length(p256dh) = 65),
            auth BLOB NOT NULL CHECK (length(auth) = 16),
            application_key BLOB CHECK (length(application_key) = 65)
        ) STRICT;
        CREATE TRIGGER web_subscription_ended AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
            DELETE FROM web_subscription WHERE registration = old.key;
        END;
        """

    /// A receipt lives as long as the ledger entry of its delivery. `kind`: 0 received, 1 opened, 2 impression.
    /// `recorded_at` follows `meta.ledger_clock` as that of the blocks does. `receipt_tally` are the sums that a report
    /// shows. `ledger_block_keys` finds the block of a delivery among thousands of its message.
    private static let receipts = """
        CREATE TABLE receipt (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER NOT NULL REFERENCES message (seq),
            registration INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
            project TEXT NOT NULL,
            time INTEGER NOT NULL,
            recorded_at INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX receipt_of ON receipt (message, registration, kind);
        CREATE INDEX receipt_by_project ON receipt (project, recorded_at);

        CREATE TABLE receipt_tally (
            message INTEGER NOT NULL REFERENCES message (seq),
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (message, kind)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX ledger_block_keys ON ledger_block (message, first_key, last_key);
        """
}
