extension Schema {
    /// `device_group_left` lets no path that ends a registration forget its groups. A migration that makes the table of
    /// registrations anew has to make this trigger anew. `last_ended` is the member that left last by its end: when it was
    /// the last one and is erased, the name goes with it.
    static let deviceGroups = """
        CREATE TABLE device_group (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            name TEXT NOT NULL CHECK (length(name) > 0),
            key TEXT NOT NULL UNIQUE,
            created_at INTEGER NOT NULL,
            last_ended INTEGER,
            UNIQUE (project, name)
        ) STRICT;

        CREATE TABLE device_group_member (
            device_group INTEGER NOT NULL REFERENCES device_group (id),
            registration INTEGER NOT NULL REFERENCES registration (key),
            PRIMARY KEY (device_group, registration)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX device_group_of_registration ON device_group_member (registration);
        CREATE TRIGGER device_group_left AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
            UPDATE device_group SET last_ended = new.key WHERE id IN (
                SELECT device_group FROM device_group_member INDEXED BY device_group_of_registration
                WHERE registration = new.key);
            DELETE FROM device_group_member WHERE registration = new.key;
        END;
        """
}
