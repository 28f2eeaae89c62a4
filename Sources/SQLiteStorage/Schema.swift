import GRDB
import Store

/// The tables of the embedded store. Migrations are only ever added: a migration that was released never changes.
enum Schema {
    /// The released versions, the oldest first.
    static var versions: [String] { migrator.migrations }

    /// Brings a database from any earlier version to this one.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(sql: registrations)
            try db.execute(sql: messages)
            try db.execute(sql: work)
            try db.execute(sql: ledger)
            try db.execute(sql: keys)
        }
        migrator.registerMigration("2") { db in try db.execute(sql: proven) }
        migrator.registerMigration("3") { db in try db.execute(sql: quarantine) }
        migrator.registerMigration("4") { db in
            try migrateWork(db)
            try migrateLedger(db)
        }
        migrator.registerMigration("5") { db in try migrateRegistrations(db) }
        migrator.registerMigration("6") { db in try db.execute(sql: serviceAccounts) }
        migrator.registerMigration("7") { db in try db.execute(sql: deviceGroups) }
        migrator.registerMigration("8") { db in try migrateDevices(db) }
        migrator.registerMigration("9") { db in try migrateDeliveryData(db) }
        migrator.registerMigration("10") { db in try migrateClaims(db) }
        migrator.registerMigration("11") { db in try migratePassing(db) }
        migrator.registerMigration("12") { db in try migrateInstalls(db) }
        migrator.registerMigration("13") { db in try db.execute(sql: auditLog) }
        migrator.registerMigration("14") { db in try migrateTopics(db) }
        return migrator
    }

    /// When APNs first accepted the device token that a registration has; NULL: it never did. Without an index: it is
    /// read with its row only.
    private static let proven = "ALTER TABLE registration ADD COLUMN proven_at INTEGER;"

    /// Since when and why fan-outs pass a registration by; the index is for lifting it. `pending.probing_since`
    /// and `pending.refused_by`: when the registration's environment refused the device token and which one that was, so
    /// that the other one is tried.
    private static let quarantine = """
        ALTER TABLE registration ADD COLUMN quarantined_at INTEGER;
        ALTER TABLE registration ADD COLUMN quarantine_reason TEXT
            CHECK ((quarantine_reason IS NULL) = (quarantined_at IS NULL));
        CREATE INDEX registration_quarantined ON registration (project, app, quarantined_at)
            WHERE quarantined_at IS NOT NULL;
        ALTER TABLE pending ADD COLUMN probing_since INTEGER;
        ALTER TABLE pending ADD COLUMN refused_by TEXT
            CHECK (refused_by IN ('production', 'sandbox') AND (refused_by IS NULL) = (probing_since IS NULL));
        """

    /// `topic.subscribers` is kept by triggers, so that accepting a broadcast reads its audience from one row however
    /// many subscribe, and no path that deletes subscriptions can forget it. A subscription is four integers in one
    /// clustered tree: a page of a topic is one range scan. Its `number` comes from `meta.subscriptions` and says who
    /// subscribed before a message was accepted, whatever the clock does.
    private static let registrations = """
        CREATE TABLE registration (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            fid TEXT NOT NULL UNIQUE,
            token TEXT NOT NULL UNIQUE,
            project TEXT NOT NULL,
            app TEXT NOT NULL,
            device_token BLOB NOT NULL CHECK (length(device_token) > 0),
            environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
            app_version TEXT,
            created_at INTEGER NOT NULL,
            refreshed_at INTEGER NOT NULL,
            ended_at INTEGER,
            end_cause TEXT CHECK (end_cause IN ('deleted', 'unregistered', 'replaced')),
            CHECK ((ended_at IS NULL) = (end_cause IS NULL))
        ) STRICT;
        CREATE UNIQUE INDEX registration_active ON registration (project, app, device_token) WHERE ended_at IS NULL;

        CREATE TABLE topic (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            name TEXT NOT NULL,
            subscribers INTEGER NOT NULL DEFAULT 0 CHECK (subscribers >= 0),
            UNIQUE (project, name)
        ) STRICT;

        CREATE TABLE subscription (
            topic INTEGER NOT NULL REFERENCES topic (id),
            registration INTEGER NOT NULL REFERENCES registration (key),
            number INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (topic, registration)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX subscription_by_registration ON subscription (registration);
        CREATE TRIGGER subscription_begun AFTER INSERT ON subscription BEGIN
            UPDATE topic SET subscribers = subscribers + 1 WHERE id = new.topic;
        END;
        CREATE TRIGGER subscription_ended AFTER DELETE ON subscription BEGIN
            UPDATE topic SET subscribers = subscribers - 1 WHERE id = old.topic;
        END;
        """

    /// `meta.active_messages` is asked before each accept, hence a counter, kept by triggers.
    private static let messages = """
        CREATE TABLE meta (
            name TEXT NOT NULL PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO meta (name, value) VALUES ('active_messages', 0), ('write_probe', 0), ('ledger_clock', 0),
            ('subscriptions', 0);

        CREATE TABLE message (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            project TEXT NOT NULL,
            registration INTEGER REFERENCES registration (key),
            topic INTEGER REFERENCES topic (id),
            audience INTEGER NOT NULL CHECK (audience >= 0),
            source TEXT NOT NULL,
            apns_id TEXT,
            label TEXT,
            is_displayed INTEGER NOT NULL CHECK (is_displayed IN (0, 1)),
            collapse_key TEXT,
            priority INTEGER NOT NULL,
            time_to_live INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            state TEXT NOT NULL CHECK (state IN ('ACTIVE', 'PAUSED', 'COMPLETE', 'CANCELLED')),
            accepted_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            completed_at INTEGER,
            CHECK ((registration IS NULL) <> (topic IS NULL)),
            CHECK ((completed_at IS NULL) = (state IN ('ACTIVE', 'PAUSED')))
        ) STRICT;
        CREATE INDEX message_by_project ON message (project);
        CREATE TRIGGER message_begun AFTER INSERT ON message WHEN new.completed_at IS NULL BEGIN
            UPDATE meta SET value = value + 1 WHERE name = 'active_messages';
        END;
        CREATE TRIGGER message_ended AFTER UPDATE OF completed_at ON message
        WHEN old.completed_at IS NULL AND new.completed_at IS NOT NULL BEGIN
            UPDATE meta SET value = value - 1 WHERE name = 'active_messages';
        END;
        """

    /// `fan_out.last_subscription` is the number of the newest subscription at accept; `after_key` is the cursor; `claimed` the deliveries claimed so far; `served` tells whose turn it is.
    /// A `page` lives from its claim until its last delivery is settled or has moved to `pending`. `pending` holds
    /// single deliveries and retries, waiting or claimed.
    private static let work = """
        CREATE TABLE fan_out (
            message INTEGER NOT NULL REFERENCES message (seq),
            shard INTEGER NOT NULL,
            topic INTEGER NOT NULL REFERENCES topic (id),
            last_subscription INTEGER NOT NULL,
            after_key INTEGER NOT NULL,
            last_key INTEGER NOT NULL,
            expected INTEGER NOT NULL CHECK (expected >= 0),
            claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed >= 0),
            served INTEGER NOT NULL,
            done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
            PRIMARY KEY (message, shard)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX fan_out_turn ON fan_out (served) WHERE done = 0;

        CREATE TABLE page (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER NOT NULL,
            shard INTEGER NOT NULL,
            after_key INTEGER NOT NULL,
            last_key INTEGER NOT NULL CHECK (last_key > after_key),
            claimed INTEGER NOT NULL,
            settled INTEGER NOT NULL DEFAULT 0,
            released INTEGER NOT NULL DEFAULT 0 CHECK (released IN (0, 1)),
            interruptions INTEGER NOT NULL DEFAULT 0,
            CHECK (0 <= settled AND settled < claimed),
            FOREIGN KEY (message, shard) REFERENCES fan_out (message, shard)
        ) STRICT;
        CREATE INDEX page_by_message ON page (message);
        CREATE INDEX page_released ON page (id) WHERE released = 1;

        CREATE TABLE pending (
            message INTEGER NOT NULL REFERENCES message (seq),
            registration INTEGER NOT NULL REFERENCES registration (key),
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed IN (0, 1)),
            not_before INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            unknown_attempts INTEGER NOT NULL DEFAULT 0 CHECK (unknown_attempts BETWEEN 0 AND attempts),
            last_cause TEXT,
            PRIMARY KEY (message, registration)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pending_due ON pending (lane, not_before) WHERE claimed = 0;
        """

    /// A ledger row copies FID and app, so that it outlives the registration. `recorded_at` is what exports go by: it
    /// follows `meta.ledger_clock` and never goes back from row to row. `ledger_hour` bounds the row ids of an hour, so
    /// that an export begins without reading what is older.
    /// `tally` and `latency` are the sums a report shows.
    private static let ledger = """
        CREATE TABLE ledger (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            project TEXT NOT NULL,
            message INTEGER NOT NULL REFERENCES message (seq),
            registration INTEGER NOT NULL,
            fid TEXT NOT NULL,
            app TEXT NOT NULL,
            ended_at INTEGER NOT NULL,
            recorded_at INTEGER NOT NULL,
            outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'expired', 'cancelled')),
            reason TEXT,
            attempts INTEGER NOT NULL CHECK (attempts >= 0),
            unknown_attempts INTEGER NOT NULL CHECK (unknown_attempts BETWEEN 0 AND attempts),
            latency_ms INTEGER NOT NULL,
            apns_id TEXT NOT NULL,
            UNIQUE (message, registration)
        ) STRICT;
        CREATE INDEX ledger_by_project ON ledger (project);
        CREATE INDEX ledger_not_accepted ON ledger (message, outcome, registration) WHERE outcome <> 'accepted';

        CREATE TABLE ledger_hour (
            project TEXT NOT NULL,
            hour INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            PRIMARY KEY (project, hour)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE tally (
            message INTEGER NOT NULL REFERENCES message (seq),
            outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'expired', 'cancelled')),
            reason TEXT NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (message, outcome, reason)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE latency (
            message INTEGER NOT NULL REFERENCES message (seq),
            bucket INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (message, bucket)
        ) STRICT, WITHOUT ROWID;
        """

    private static let keys = """
        CREATE TABLE api_key (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            project TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('admin', 'sender', 'client')),
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            created_at INTEGER NOT NULL,
            revoked_at INTEGER
        ) STRICT;
        CREATE INDEX api_key_by_project ON api_key (project);
        """
}
