extension Schema {
    /// Of a key only the SHA-256 is kept. `last_used_at` is written about once a minute.
    static let apiKeys = """
        CREATE TABLE api_key (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            project TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('admin', 'sender', 'client')),
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            created_at INTEGER NOT NULL,
            revoked_at INTEGER,
            name TEXT CHECK (length(name) BETWEEN 1 AND 100),
            expires_at INTEGER,
            last_used_at INTEGER
        ) STRICT;
        CREATE INDEX api_key_by_project ON api_key (project);
        """

    /// An access token belongs to the key that its assertion was signed with, and ends with it. The index on
    /// `expires_at` is for forgetting the ended ones, the one on `key` for deleting an account. `token_uri` is what the
    /// credential of the key says; NULL: it is not known.
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
            revoked_at INTEGER,
            token_uri TEXT
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

    /// `audit_log` names things by their public ids, since it outlives them; `details` is a JSON object of texts. Its
    /// indexes are for the list of a project, also of one action among many changes of registrations, and for
    /// forgetting.
    static let auditLog = """
        CREATE TABLE audit_log (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            time INTEGER NOT NULL,
            project TEXT NOT NULL,
            action TEXT NOT NULL CHECK (length(action) > 0),
            subject TEXT NOT NULL,
            details TEXT,
            credential_id TEXT NOT NULL,
            credential_name TEXT,
            credential_role TEXT CHECK (credential_role IN ('admin', 'sender', 'client')),
            credential_address TEXT
        ) STRICT;
        CREATE INDEX audit_log_by_project ON audit_log (project, id);
        CREATE INDEX audit_log_by_action ON audit_log (project, action, id);
        CREATE INDEX audit_log_by_time ON audit_log (time);
        """
}
