extension Schema {
    /// `meta` holds numbers by name: `write_probe` counts the checks whether the store can be written, `ledger_clock`
    /// is the newest time of recording in the ledger, `subscriptions` the number of the newest subscription, and
    /// `registration_clock` the newest time of a refresh, to the minute: when it is ahead of the clock, times of
    /// refreshes are to be set back. `rewrite_due` is the `schema_version` of the file at the newest erasure: VACUUM counts
    /// that up, so as long as both are the same the file is to be written anew.
    static let meta = """
        CREATE TABLE meta (
            name TEXT NOT NULL PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO meta (name, value) VALUES ('write_probe', 0), ('ledger_clock', 0), ('subscriptions', 0),
            ('registration_clock', 0), ('rewrite_due', -1);
        """

    /// `project` holds what accept asks for without counting: active registrations, topics, and the load of messages
    /// that are not complete. Triggers keep registrations and topics, but for registrations that are inserted, which
    /// ``InsertedRegistrations`` counts; each transaction counts the messages that begin or end in it (``ProjectLoad``).
    /// `change` ascends with each change of the load, so that after a commit only what changed is read.
    ///
    /// `app` stands for project, platform and id, `route` for project, app and channel, in rows of other tables. `channel`: 0
    /// APNs production, 1 APNs sandbox, 2 FCM, 3 Web Push, 4 and 5 the broadcasts of APNs production and sandbox. `platform`: 0 Apple, 1 Android, 2 browsers.
    static let projects = """
        CREATE TABLE project (
            name TEXT NOT NULL PRIMARY KEY,
            registrations INTEGER NOT NULL DEFAULT 0 CHECK (registrations >= 0),
            messages INTEGER NOT NULL DEFAULT 0 CHECK (messages >= 0),
            bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
            change INTEGER NOT NULL DEFAULT 0,
            topics INTEGER NOT NULL DEFAULT 0 CHECK (topics >= 0)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX project_changed ON project (change);

        CREATE TABLE app (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            name TEXT NOT NULL,
            platform INTEGER NOT NULL CHECK (platform IN (0, 1, 2)),
            UNIQUE (project, name, platform)
        ) STRICT;

        CREATE TABLE route (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            app TEXT NOT NULL,
            channel INTEGER NOT NULL CHECK (channel IN (0, 1, 2, 3, 4, 5)),
            UNIQUE (project, app, channel)
        ) STRICT;
        """
}
