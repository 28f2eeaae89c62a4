extension Schema {
    /// `pending` holds single deliveries and retries, waiting (no worker) or claimed, but for those that a message names
    /// as claimed itself. `is_held`: the message is paused
    /// or cancelled. `route` is put right when the row is claimed. `interruptions`: those of the unknown attempts that
    /// the gateway itself cut off. `probing_since` and `refused_by`: when the registration's environment refused the
    /// device token and which one that was, so that the other one is tried. Its registration may be purged in the end,
    /// hence no foreign key.
    ///
    /// Each index holds what one question asks for, as with fan-outs: `pending_due` is walked by route.
    static let pending = """
        CREATE TABLE pending (
            message INTEGER NOT NULL REFERENCES message (seq),
            registration INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            route INTEGER NOT NULL REFERENCES route (id),
            worker INTEGER REFERENCES worker (id),
            is_held INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),
            not_before INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            unknown_attempts INTEGER NOT NULL DEFAULT 0 CHECK (unknown_attempts BETWEEN 0 AND attempts),
            last_cause TEXT,
            probing_since INTEGER,
            refused_by TEXT
                CHECK (refused_by IN ('production', 'sandbox') AND (refused_by IS NULL) = (probing_since IS NULL)),
            interruptions INTEGER NOT NULL DEFAULT 0
                CHECK (interruptions BETWEEN 0 AND unknown_attempts),
            PRIMARY KEY (message, registration)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX pending_due ON pending (lane, route, not_before, worker, is_held)
            WHERE worker IS NULL AND is_held = 0;
        CREATE INDEX pending_claimed ON pending (worker, lane) WHERE worker IS NOT NULL;
        CREATE INDEX pending_held ON pending (lane, worker, is_held) WHERE worker IS NULL AND is_held = 1;
        """
}
