extension Schema {
    /// Of links and sessions only the SHA-256 of the secret is kept. The roles of an operator who is revoked are gone.
    static let operators = """
        CREATE TABLE operator (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            created_at INTEGER NOT NULL,
            revoked_at INTEGER,
            password_hash TEXT,
            one_time_key BLOB,
            one_time_step INTEGER NOT NULL DEFAULT -1
        ) STRICT;

        CREATE TABLE operator_role (
            operator INTEGER NOT NULL REFERENCES operator (seq),
            project TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('viewer', 'sender', 'operator', 'admin')),
            PRIMARY KEY (operator, project)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX operator_role_by_project ON operator_role (project);

        CREATE TABLE sign_in_link (
            digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
            operator INTEGER NOT NULL REFERENCES operator (seq),
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sign_in_link_by_operator ON sign_in_link (operator);
        CREATE INDEX sign_in_link_by_expiry ON sign_in_link (expires_at);

        CREATE TABLE operator_session (
            digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
            id TEXT NOT NULL UNIQUE,
            operator INTEGER NOT NULL REFERENCES operator (seq),
            created_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL,
            proven_at INTEGER NOT NULL,
            address TEXT,
            browser TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX operator_session_by_operator ON operator_session (operator, used_at);
        CREATE INDEX operator_session_by_use ON operator_session (used_at);
        CREATE INDEX operator_session_by_begin ON operator_session (created_at);

        CREATE TABLE composer_draft (
            id TEXT NOT NULL PRIMARY KEY,
            operator INTEGER NOT NULL REFERENCES operator (seq),
            project TEXT NOT NULL,
            fields TEXT NOT NULL,
            changed_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX composer_draft_by_operator ON composer_draft (operator, project, changed_at);
        """
}
