extension Schema {
    /// `digest_key` has one row, made with the store: 244 random bits, from the server's strong random source.
    static let clicks = """
        CREATE TABLE digest_key (
            id bigint PRIMARY KEY CHECK (id = 1),
            key bytea NOT NULL CHECK (length(key) = 32)
        );
        INSERT INTO digest_key (id, key)
            VALUES (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

        CREATE TABLE link_click (
            id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
            project text COLLATE "C" NOT NULL,
            platform bigint NOT NULL CHECK (platform IN (0, 1, 2)),
            app text COLLATE "C" NOT NULL,
            url text COLLATE "C" NOT NULL,
            link bigint,
            invitation bytea CHECK (length(invitation) = 16),
            time bigint NOT NULL,
            expires_at bigint NOT NULL,
            used_at bigint,
            address bytea CHECK (length(address) = 16),
            screen_short bigint,
            screen_long bigint,
            language text COLLATE "C",
            time_zone text COLLATE "C",
            system_major bigint,
            system_minor bigint,
            device bigint CHECK (device IN (1, 2, 3, 4))
        );
        CREATE INDEX link_click_open ON link_click (time, id) WHERE used_at IS NULL;
        CREATE INDEX link_click_expiry ON link_click (expires_at);

        CREATE TABLE attributed_install (
            project text COLLATE "C" NOT NULL,
            platform bigint NOT NULL,
            app text COLLATE "C" NOT NULL,
            digest bytea NOT NULL CHECK (length(digest) = 16),
            time bigint NOT NULL,
            PRIMARY KEY (project, platform, app, digest)
        );
        CREATE INDEX attributed_install_time ON attributed_install (time);
        """
}
