extension Schema {
    /// `digest_key` has one row, made with the store. `address` and `digest` are keyed digests with it.
    ///
    /// `link_click`: `used_at` says that an install has it. A click that is used up before it was written is written as
    /// used up. `device`: 1 phone, 2 tablet, 3 music player, 4 Android. `platform` as in `app`.
    static let clicks = """
        CREATE TABLE digest_key (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            key BLOB NOT NULL CHECK (length(key) = 32)
        ) STRICT;
        INSERT INTO digest_key (id, key) VALUES (1, randomblob(32));

        CREATE TABLE link_click (
            id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
            project TEXT NOT NULL,
            platform INTEGER NOT NULL CHECK (platform IN (0, 1, 2)),
            app TEXT NOT NULL,
            url TEXT NOT NULL,
            link INTEGER,
            invitation BLOB CHECK (length(invitation) = 16),
            time INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            used_at INTEGER,
            address BLOB CHECK (length(address) = 16),
            screen_short INTEGER,
            screen_long INTEGER,
            language TEXT,
            time_zone TEXT,
            system_major INTEGER,
            system_minor INTEGER,
            device INTEGER CHECK (device IN (1, 2, 3, 4))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX link_click_open ON link_click (time, id) WHERE used_at IS NULL;
        CREATE INDEX link_click_expiry ON link_click (expires_at);

        CREATE TABLE attributed_install (
            project TEXT NOT NULL,
            platform INTEGER NOT NULL,
            app TEXT NOT NULL,
            digest BLOB NOT NULL CHECK (length(digest) = 16),
            time INTEGER NOT NULL,
            PRIMARY KEY (project, platform, app, digest)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX attributed_install_time ON attributed_install (time);
        """
}
