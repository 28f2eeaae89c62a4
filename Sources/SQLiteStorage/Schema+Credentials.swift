import Store

extension Schema {
    /// Version 6, which never changes once it is released: service accounts, their public keys, and access tokens.
    ///
    /// An access token belongs to the key that its assertion was signed with, and ends with it. The index on
    /// `expires_at` is for forgetting the ended ones, the one on `key` for deleting an account.
    static let serviceAccounts = """
        CREATE TABLE service_account (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            email TEXT NOT NULL UNIQUE,
            project TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('admin', 'sender')),
            created_at INTEGER NOT NULL,
            disabled_at INTEGER
        ) STRICT;
        CREATE INDEX service_account_by_project ON service_account (project);

        CREATE TABLE service_account_key (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            account INTEGER NOT NULL REFERENCES service_account (seq),
            public_key BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            revoked_at INTEGER
        ) STRICT;
        CREATE INDEX service_account_key_by_account ON service_account_key (account);

        CREATE TABLE access_token (
            digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
            key INTEGER NOT NULL REFERENCES service_account_key (seq),
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX access_token_by_key ON access_token (key);
        CREATE INDEX access_token_by_expiry ON access_token (expires_at);
        """
}
