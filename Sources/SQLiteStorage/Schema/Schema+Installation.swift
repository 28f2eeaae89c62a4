extension Schema {
    /// `registration` is the key of the registration that the installation made last, which may have ended or be
    /// purged, hence no foreign key. Of refresh and auth tokens only the SHA-256 is kept. A registration that ended can
    /// become active again, with its FID, when its installation registers again.
    static let installations = """
        CREATE TABLE installation (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            project TEXT NOT NULL,
            fid TEXT NOT NULL,
            app TEXT NOT NULL,
            sdk_version TEXT,
            refresh_digest BLOB NOT NULL CHECK (length(refresh_digest) = 32),
            registration INTEGER,
            created_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX installation_fid ON installation (fid, project);
        CREATE INDEX installation_of ON installation (registration) WHERE registration IS NOT NULL;
        CREATE INDEX installation_used ON installation (used_at);

        CREATE TABLE installation_token (
            digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
            installation INTEGER NOT NULL REFERENCES installation (id) ON DELETE CASCADE,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX installation_token_of ON installation_token (installation, expires_at);
        CREATE INDEX installation_token_expiry ON installation_token (expires_at);
        """
}
