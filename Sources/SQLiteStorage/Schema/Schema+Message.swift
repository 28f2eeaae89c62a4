extension Schema {
    /// `id` is packed (``MessageID/packed``). One to a registration whose payload was removed is in `ended_single` instead.
    /// A message has one of `registration`, `topic`, `condition` (with `expression`, its parsed form) and `user`, or
    /// none of them: a list. `singles` are the deliveries that were made at accept; the others are made by fan-outs. The
    /// only delivery of a message to a registration that is sent right away has no row of its own until it waits for another
    /// attempt: `worker` has claimed it, by `route`; it ends with the message. Each other one is a row of `pending`. `block` is the ledger block that it ended in; by
    /// it the ledger of a registration is found. `bytes` is what counts against the limits. A message that was cancelled has no
    /// `completed_at` while something of it is open. A topic goes only when no message is of it, hence the index over
    /// these.
    ///
    /// Its registration may be purged long after it ended, hence no foreign key.
    static let messages = """
        CREATE TABLE message (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,
            project TEXT NOT NULL,
            registration INTEGER,
            topic INTEGER REFERENCES topic (id),
            condition TEXT,
            expression TEXT,
            user TEXT,
            audience INTEGER NOT NULL CHECK (audience >= 0),
            singles INTEGER NOT NULL CHECK (singles >= 0),
            source TEXT NOT NULL,
            bytes INTEGER NOT NULL CHECK (bytes >= 0),
            apns_id TEXT,
            label TEXT,
            is_displayed INTEGER NOT NULL CHECK (is_displayed IN (0, 1)),
            collapse_key TEXT,
            priority INTEGER NOT NULL,
            time_to_live INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            rate INTEGER CHECK (rate > 0),
            finish_by INTEGER,
            collapses_repeats INTEGER NOT NULL CHECK (collapses_repeats IN (0, 1)),
            state TEXT NOT NULL CHECK (state IN ('ACTIVE', 'PAUSED', 'COMPLETE', 'CANCELLED')),
            accepted_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            completed_at INTEGER,
            worker INTEGER,
            route INTEGER,
            block INTEGER,
            credential_id TEXT,
            credential_name TEXT,
            credential_role TEXT
                CHECK (credential_role IN ('admin', 'sender', 'client')),
            credential_address TEXT,
            CHECK ((registration IS NOT NULL) + (topic IS NOT NULL) + (condition IS NOT NULL) + (user IS NOT NULL) <= 1),
            CHECK ((condition IS NULL) = (expression IS NULL)),
            CHECK (completed_at IS NULL OR state IN ('COMPLETE', 'CANCELLED')),
            CHECK (completed_at IS NOT NULL OR state <> 'COMPLETE'),
            CHECK ((worker IS NULL) = (route IS NULL)),
            CHECK (block IS NULL OR registration IS NOT NULL AND completed_at IS NOT NULL),
            CHECK (worker IS NULL OR registration IS NOT NULL AND completed_at IS NULL)
        ) STRICT;
        CREATE INDEX message_by_project ON message (project);
        CREATE INDEX message_open ON message (project, state) WHERE state <> 'COMPLETE';
        CREATE INDEX message_claimed ON message (worker, lane) WHERE worker IS NOT NULL;
        CREATE INDEX message_of_registration ON message (registration, block) WHERE block IS NOT NULL;
        CREATE INDEX message_cancelled ON message (seq) WHERE state = 'CANCELLED' AND completed_at IS NULL;
        CREATE INDEX message_by_topic ON message (topic) WHERE topic IS NOT NULL;
        """

    /// The keys of a list that became a fan-out, packed, until the message is complete.
    static let messageLists = """
        CREATE TABLE message_list (
            message INTEGER NOT NULL REFERENCES message (seq),
            last_key INTEGER NOT NULL,
            keys BLOB NOT NULL,
            PRIMARY KEY (message, last_key)
        ) STRICT, WITHOUT ROWID;
        """

    /// What a message is on each platform, where that differs between those that it may reach: `collapse_key`, `priority`
    /// and `time_to_live` as in `message`, which has those of the first app and of the longest life. From `expires_at` on
    /// nothing is sent there, though the message may live on elsewhere.
    static let messagePlatforms = """
        CREATE TABLE message_platform (
            message INTEGER NOT NULL REFERENCES message (seq),
            platform INTEGER NOT NULL CHECK (platform IN (0, 1, 2)),
            collapse_key TEXT,
            priority INTEGER NOT NULL,
            time_to_live INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (message, platform)
        ) STRICT, WITHOUT ROWID;
        """

    /// The keys of requests, each with the message that the first of them made. `message` has no foreign key: that
    /// would take an index for the removal of messages, and the keys of one that was removed do not count any more.
    static let idempotencyKeys = """
        CREATE TABLE idempotency (
            project TEXT NOT NULL,
            key TEXT NOT NULL CHECK (length(key) > 0),
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            message INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            PRIMARY KEY (project, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_expiry ON idempotency (expires_at);
        """
}
