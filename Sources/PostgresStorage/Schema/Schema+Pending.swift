extension Schema {
    /// Single deliveries and retries, waiting or claimed. A row changes with each attempt, so its table keeps room for
    /// that and is vacuumed early: an index that is walked from its oldest entry must not begin with dead ones.
    static let pending = """
        CREATE TABLE pending (
            message bigint NOT NULL REFERENCES message (seq),
            registration bigint NOT NULL,
            lane bigint NOT NULL CHECK (lane IN (0, 1)),
            route bigint NOT NULL REFERENCES route (id),
            worker bigint REFERENCES worker (id),
            is_held bigint NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),
            not_before bigint NOT NULL,
            attempts bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            unknown_attempts bigint NOT NULL DEFAULT 0 CHECK (unknown_attempts BETWEEN 0 AND attempts),
            last_cause text COLLATE "C",
            probing_since bigint,
            refused_by text COLLATE "C"
                CHECK (refused_by IN ('production', 'sandbox') AND (refused_by IS NULL) = (probing_since IS NULL)),
            interruptions bigint NOT NULL DEFAULT 0
                CHECK (interruptions BETWEEN 0 AND unknown_attempts),
            PRIMARY KEY (message, registration)
        ) WITH (fillfactor = 70, \(Schema.eagerVacuum));
        CREATE INDEX pending_due ON pending (lane, route, not_before, message, registration)
            WHERE worker IS NULL AND is_held = 0;
        CREATE INDEX pending_claimed ON pending (worker, lane, message, registration) WHERE worker IS NOT NULL;
        CREATE INDEX pending_held ON pending (lane, message, registration) WHERE worker IS NULL AND is_held = 1;
        """
}
