extension Schema {
    /// `retention` says of a project what was removed, so that the rest is not taken for the whole: a row is made with the
    /// first removal. Payloads of messages up to `payloads_after` are removed but for those of `late_payload`, which had
    /// not ended in time when the walk came by. `removing`: the message whose rows go in several steps now. No ledger
    /// block before `ledger_start`, in milliseconds since 1970, and up to the id `last_block` can be counted on, no sum of
    /// a day up to `days_after`, no receipt that was recorded before `receipts_start`.
    static let retention = """
        CREATE TABLE retention (
            project TEXT NOT NULL PRIMARY KEY,
            payloads_after INTEGER NOT NULL DEFAULT 0,
            removing INTEGER,
            ledger_start INTEGER NOT NULL DEFAULT 0,
            last_block INTEGER NOT NULL DEFAULT 0,
            days_after INTEGER NOT NULL DEFAULT -1,
            receipts_start INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE late_payload (
            message INTEGER NOT NULL PRIMARY KEY REFERENCES message (seq),
            project TEXT NOT NULL
        ) STRICT;
        """
}
