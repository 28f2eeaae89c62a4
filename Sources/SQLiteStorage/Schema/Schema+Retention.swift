extension Schema {
    /// `retention` says of a project what was removed, so that the rest is not taken for the whole: a row is made with the
    /// first removal, and its `id` stands for the project in `ended_single`. Payloads of messages up to `payloads_after` are removed but for those of `late_payload`, which had
    /// not ended in time when the walk came by. `removing`: the message whose rows go in several steps now. No ledger
    /// block before `ledger_start`, in milliseconds since 1970, and up to the id `last_block` can be counted on, no sum of
    /// a day up to `days_after`, no receipt that was recorded before `receipts_start`.
    static let retention = """
        CREATE TABLE retention (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL UNIQUE,
            payloads_after INTEGER NOT NULL DEFAULT 0,
            removing INTEGER,
            ledger_start INTEGER NOT NULL DEFAULT 0,
            last_block INTEGER NOT NULL DEFAULT 0,
            days_after INTEGER NOT NULL DEFAULT -1,
            receipts_start INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        CREATE TABLE late_payload (
            message INTEGER NOT NULL PRIMARY KEY REFERENCES message (seq),
            project TEXT NOT NULL
        ) STRICT;
        """

    /// `ended_single` has the messages to one registration whose payload was removed: nearly all that is kept of most
    /// gateways, so a row holds what is its own and no more. `single_kind` has what many of them share, and goes when no
    /// message up to `last_message` is left. `lifetime` is from accept to expiry and only there when that is not
    /// `time_to_live`, `took` from accept to the end, both in milliseconds. A row is inserted at the end of the table, since
    /// payloads are removed in the order of accept: so pages are full. There are no foreign keys to find a row by.
    ///
    /// `every_message` are both, for whatever asks for messages that may have ended. SQLite asks each table by its own indexes when the
    /// columns have the types of `message` (sqlite.org/optoverview.html#flattening, 17), hence the casts.
    static let endedSingles = """
        CREATE TABLE single_kind (
            id INTEGER PRIMARY KEY,
            is_displayed INTEGER NOT NULL CHECK (is_displayed IN (0, 1)),
            priority INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            collapses_repeats INTEGER NOT NULL CHECK (collapses_repeats IN (0, 1)),
            credential_id TEXT,
            credential_name TEXT,
            credential_role TEXT CHECK (credential_role IN ('admin', 'sender', 'client')),
            credential_address TEXT,
            last_message INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX single_kind_by_credential ON single_kind (credential_id, credential_address);
        CREATE INDEX single_kind_last ON single_kind (last_message);

        CREATE TABLE ended_single (
            seq INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE,
            project INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            registration INTEGER NOT NULL,
            accepted_at INTEGER NOT NULL,
            time_to_live INTEGER NOT NULL,
            lifetime INTEGER,
            took INTEGER NOT NULL,
            block INTEGER NOT NULL,
            apns_id TEXT,
            label TEXT,
            collapse_key TEXT
        ) STRICT;
        CREATE INDEX ended_single_by_project ON ended_single (project);
        CREATE INDEX ended_single_of_registration ON ended_single (registration, block);

        CREATE VIEW every_message AS
        SELECT seq, id, project, registration, topic, condition, expression, user, audience, singles, source, apns_id, label,
            is_displayed, collapse_key, priority, time_to_live, lane, rate, finish_by, collapses_repeats, state, accepted_at,
            expires_at, completed_at, block, credential_id, credential_name, credential_role, credential_address
        FROM message
        UNION ALL
        SELECT e.seq, e.id, p.project, e.registration, CAST(NULL AS INTEGER), CAST(NULL AS TEXT), CAST(NULL AS TEXT),
            CAST(NULL AS TEXT), CAST(1 AS INTEGER), CAST(1 AS INTEGER), CAST('' AS TEXT), e.apns_id, e.label,
            k.is_displayed, e.collapse_key, k.priority, e.time_to_live, k.lane, CAST(NULL AS INTEGER),
            CAST(NULL AS INTEGER), k.collapses_repeats, CAST('COMPLETE' AS TEXT), e.accepted_at,
            CAST(e.accepted_at + ifnull(e.lifetime, e.time_to_live * 1000) AS INTEGER),
            CAST(e.accepted_at + e.took AS INTEGER), e.block, k.credential_id, k.credential_name, k.credential_role,
            k.credential_address
        FROM ended_single e JOIN retention p ON p.id = e.project JOIN single_kind k ON k.id = e.kind;
        """
}
