extension Schema {
    /// `channel` holds the broadcast channels of apps. `id`: the service's; NULL while it is being made. `registration`:
    /// the row that stands for it where messages are delivered, of a `registration.channel` of 4 or 5; kept as a number,
    /// since ended registrations are purged. `policy`: 0 nothing is stored, 1 the newest publication.
    ///
    /// `channel_lost` lets no path that ends such a registration, as a publication that the service refuses does, forget
    /// the channel.
    static let channels = """
        CREATE TABLE channel (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app (id),
            environment INTEGER NOT NULL CHECK (environment IN (0, 1)),
            name TEXT NOT NULL CHECK (length(name) > 0),
            policy INTEGER NOT NULL CHECK (policy IN (0, 1)),
            created_at INTEGER NOT NULL,
            id TEXT CHECK (length(id) > 0),
            registration INTEGER UNIQUE,
            lost_at INTEGER,
            CHECK ((id IS NULL) = (registration IS NULL)),
            CHECK (lost_at IS NULL OR id IS NOT NULL),
            UNIQUE (app, environment, name),
            UNIQUE (app, environment, id)
        ) STRICT;
        CREATE INDEX channel_by_home ON channel (app, environment, key);
        CREATE TRIGGER channel_lost AFTER UPDATE OF ended_at ON registration
        WHEN new.channel > 3 AND old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
            UPDATE channel SET lost_at = new.ended_at WHERE registration = new.key AND lost_at IS NULL;
        END;
        """
}
