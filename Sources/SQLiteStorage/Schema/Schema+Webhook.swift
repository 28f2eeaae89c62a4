extension Schema {
    /// Endpoints of webhooks. `settings` is JSON; `cursor`, `boundary` and those of the replay are numbers of events, without
    /// foreign keys: retention removes events. `revision` grows with each change that the sender has to look at.
    ///
    /// `webhook_attempt` outlives its endpoint until the next housekeeping, so that removing one takes no time.
    static let webhooks = """
        CREATE TABLE webhook (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
            project TEXT NOT NULL,
            settings TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('ENABLED', 'DISABLED', 'AUTO_DISABLED')),
            revision INTEGER NOT NULL DEFAULT 0,
            cursor INTEGER NOT NULL CHECK (cursor >= 0),
            boundary INTEGER,
            replay_cursor INTEGER,
            replay_last INTEGER CHECK ((replay_last IS NULL) = (replay_cursor IS NULL)),
            replay_types TEXT CHECK ((replay_types IS NULL) = (replay_cursor IS NULL)),
            replay_failed INTEGER CHECK (replay_failed IN (0, 1) AND (replay_failed IS NULL) = (replay_cursor IS NULL)),
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            next_attempt_at INTEGER,
            failing_since INTEGER,
            warned INTEGER NOT NULL DEFAULT 0 CHECK (warned BETWEEN 0 AND 100),
            created_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX webhook_by_project ON webhook (project, key);

        CREATE TABLE webhook_secret (
            webhook INTEGER NOT NULL REFERENCES webhook (key) ON DELETE CASCADE,
            place INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
            bytes BLOB NOT NULL CHECK (length(bytes) BETWEEN 24 AND 64),
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            PRIMARY KEY (webhook, place)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE webhook_attempt (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            webhook INTEGER NOT NULL,
            delivery TEXT NOT NULL,
            type TEXT NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL CHECK (last >= first),
            events INTEGER NOT NULL CHECK (events >= 0),
            time INTEGER NOT NULL,
            latency INTEGER NOT NULL,
            status INTEGER,
            failure TEXT,
            detail TEXT,
            answer TEXT
        ) STRICT;
        CREATE INDEX webhook_attempt_of ON webhook_attempt (webhook, id);
        CREATE INDEX webhook_attempt_time ON webhook_attempt (time);

        CREATE TABLE webhook_dead_letter (
            webhook INTEGER NOT NULL REFERENCES webhook (key) ON DELETE CASCADE,
            event INTEGER NOT NULL,
            delivery TEXT NOT NULL,
            type TEXT NOT NULL,
            time INTEGER NOT NULL,
            failure TEXT NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (webhook, event)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX webhook_dead_letter_time ON webhook_dead_letter (time);
        """
}
