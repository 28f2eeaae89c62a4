extension Schema {
    /// How deliveries ended within the steps of charts.
    static let traffic = """
        CREATE TABLE traffic (
            project text COLLATE "C" NOT NULL,
            span bigint NOT NULL CHECK (span IN (0, 1, 2)),
            step bigint NOT NULL,
            accepted bigint NOT NULL CHECK (accepted >= 0),
            rejected bigint NOT NULL CHECK (rejected >= 0),
            expired bigint NOT NULL CHECK (expired >= 0),
            cancelled bigint NOT NULL CHECK (cancelled >= 0),
            PRIMARY KEY (project, span, step)
        ) WITH (fillfactor = 50);
        CREATE INDEX traffic_by_step ON traffic (span, step);
        """
}
