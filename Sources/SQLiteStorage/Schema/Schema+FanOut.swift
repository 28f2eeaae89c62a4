extension Schema {
    /// A worker owns what it claimed until `ended_at`; until then its pauses of routes hold.
    static let workers = """
        CREATE TABLE worker (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            lease_until INTEGER NOT NULL,
            ended_at INTEGER
        ) STRICT;
        CREATE INDEX worker_running ON worker (lease_until) WHERE ended_at IS NULL;

        CREATE TABLE route_pause (
            route INTEGER NOT NULL REFERENCES route (id),
            worker INTEGER NOT NULL REFERENCES worker (id),
            is_credential INTEGER NOT NULL CHECK (is_credential IN (0, 1)),
            PRIMARY KEY (route, worker)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX route_pause_by_worker ON route_pause (worker);
        """

    /// `fan_out` is a shard: registrations with keys in (`after_key`, `last_key`]. One with a `parent` is for those
    /// that its parent came by while their route was held: they are named in `set_aside`, so that each recipient is
    /// decided about once, whatever becomes of its route. `last_subscription` is the number of the newest subscription
    /// at accept, `refreshed_since` the policy on stale registrations. `is_open`: whether there is something to claim
    /// now, so neither while the message is paused nor after it was cancelled. `passed_…` count the registrations that
    /// the shard came by and did not claim, by cause, as of its cursor. `…_android` and `…_web` say how many of the claimed
    /// and of the passed ones are of these platforms; the rest are Apple's.
    ///
    /// A `page` lives from its claim until its last delivery is settled or has moved to `pending`. `keys` are its
    /// recipients, packed; `settled` has a bit for each of them. Without a worker it was given back.
    ///
    /// Each index holds what one question asks for and no more, so that it is empty in a gateway that has caught up:
    /// `fan_out_open` is walked by project, the others are counted for the backlog. Columns that are the same in all of
    /// an index are in it so that SQLite need not look at the table.
    static let fanOuts = """
        CREATE TABLE fan_out (
            message INTEGER NOT NULL REFERENCES message (seq),
            shard INTEGER NOT NULL,
            project TEXT NOT NULL,
            after_key INTEGER NOT NULL,
            last_key INTEGER NOT NULL CHECK (after_key <= last_key),
            last_subscription INTEGER NOT NULL,
            refreshed_since INTEGER,
            parent INTEGER,
            only_route INTEGER REFERENCES route (id),
            expected INTEGER NOT NULL CHECK (expected >= 0),
            claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed >= 0),
            done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
            is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
            passed_ended INTEGER NOT NULL DEFAULT 0 CHECK (passed_ended >= 0),
            passed_quarantined INTEGER NOT NULL DEFAULT 0 CHECK (passed_quarantined >= 0),
            passed_stale INTEGER NOT NULL DEFAULT 0 CHECK (passed_stale >= 0),
            claimed_android INTEGER NOT NULL DEFAULT 0 CHECK (claimed_android >= 0),
            claimed_web INTEGER NOT NULL DEFAULT 0 CHECK (claimed_web >= 0),
            passed_android INTEGER NOT NULL DEFAULT 0 CHECK (passed_android >= 0),
            passed_web INTEGER NOT NULL DEFAULT 0 CHECK (passed_web >= 0),
            PRIMARY KEY (message, shard),
            CHECK (claimed_android + claimed_web <= claimed),
            CHECK (passed_android + passed_web <= passed_ended + passed_quarantined + passed_stale),
            CHECK ((only_route IS NULL) = (parent IS NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX fan_out_open ON fan_out (project, message, shard, is_open) WHERE is_open = 1;
        CREATE INDEX fan_out_unclaimed ON fan_out (done, expected, claimed) WHERE done = 0;
        CREATE UNIQUE INDEX fan_out_by_parent ON fan_out (message, parent, only_route) WHERE parent IS NOT NULL;

        CREATE TABLE set_aside (
            message INTEGER NOT NULL REFERENCES message (seq),
            shard INTEGER NOT NULL,
            last_key INTEGER NOT NULL,
            keys BLOB NOT NULL,
            PRIMARY KEY (message, shard, last_key)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE page (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER NOT NULL,
            shard INTEGER NOT NULL,
            worker INTEGER REFERENCES worker (id),
            claimed INTEGER NOT NULL,
            open INTEGER NOT NULL CHECK (open BETWEEN 1 AND claimed),
            interruptions INTEGER NOT NULL DEFAULT 0 CHECK (interruptions >= 0),
            settled BLOB NOT NULL CHECK (length(settled) = (claimed + 7) / 8),
            keys BLOB NOT NULL,
            FOREIGN KEY (message, shard) REFERENCES fan_out (message, shard)
        ) STRICT;
        CREATE INDEX page_open ON page (message, open);
        CREATE INDEX page_claimed ON page (worker) WHERE worker IS NOT NULL;
        CREATE INDEX page_released ON page (message, shard, id) WHERE worker IS NULL;
        """
}
