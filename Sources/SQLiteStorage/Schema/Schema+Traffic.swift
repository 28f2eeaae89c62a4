extension Schema {
    /// How deliveries ended within the steps of charts: `span` is 0 for the hour by minutes, 1 for the day by quarters of an
    /// hour, 2 for the week by two hours; `step` counts the steps since 1970. Added to every few seconds by each gateway,
    /// not with each settlement.
    static let traffic = """
        CREATE TABLE traffic (
            project TEXT NOT NULL,
            span INTEGER NOT NULL CHECK (span IN (0, 1, 2)),
            step INTEGER NOT NULL,
            accepted INTEGER NOT NULL CHECK (accepted >= 0),
            rejected INTEGER NOT NULL CHECK (rejected >= 0),
            expired INTEGER NOT NULL CHECK (expired >= 0),
            cancelled INTEGER NOT NULL CHECK (cancelled >= 0),
            PRIMARY KEY (project, span, step)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX traffic_by_step ON traffic (span, step);
        """
}
