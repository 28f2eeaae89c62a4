import Store

extension Schema {
    /// Version 13: who did what. Messages accepted before have no credential.
    ///
    /// `api_key.last_used_at` is written about once a minute. `audit_log` names things by their public ids, since it
    /// outlives them; `details` is a JSON object of texts. Its indexes are for the list of a project, also of one action
    /// among many changes of registrations, and for forgetting. `service_account_key.token_uri` is what the credential of
    /// the key says; NULL: it is not known.
    static let auditLog = """
        ALTER TABLE api_key ADD COLUMN name TEXT CHECK (length(name) BETWEEN 1 AND 100);
        ALTER TABLE api_key ADD COLUMN expires_at INTEGER;
        ALTER TABLE api_key ADD COLUMN last_used_at INTEGER;

        ALTER TABLE service_account_key ADD COLUMN token_uri TEXT;

        ALTER TABLE message ADD COLUMN credential_id TEXT;
        ALTER TABLE message ADD COLUMN credential_name TEXT;
        ALTER TABLE message ADD COLUMN credential_role TEXT
            CHECK (credential_role IN ('admin', 'sender', 'client'));
        ALTER TABLE message ADD COLUMN credential_address TEXT;

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
