extension Schema {
    /// `entries` are packed (``LedgerBlock``) and in one block of one outcome class: all accepted, or none. What ends in one
    /// step of messages to one registration each shares a block without `message` and keys: each of these messages names it. The other
    /// columns say what is in them, so that a search reads no block without what it looks for. `outcomes` has a bit for
    /// each: 1 accepted, 2 rejected, 4 expired, 8 cancelled. `entries` comes last: what is asked of the other columns
    /// is on the first page of a row. `ledger_block_keys` finds the block of a delivery among thousands of its message.
    ///
    /// `recorded_at` is what exports go by: it follows `meta.ledger_clock` and never goes back from block to block.
    /// `ledger_hour` bounds the ids of an hour's blocks, so that an export begins without reading what is older.
    static let ledger = """
        CREATE TABLE ledger_block (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER REFERENCES message (seq),
            project TEXT NOT NULL,
            recorded_at INTEGER NOT NULL,
            first_key INTEGER CHECK (first_key > 0),
            last_key INTEGER,
            rows INTEGER NOT NULL CHECK (rows >= 1),
            outcomes INTEGER NOT NULL CHECK (outcomes IN (1, 2, 4, 6, 8, 10, 12, 14)),
            entries BLOB NOT NULL,
            CHECK ((message IS NULL) = (first_key IS NULL) AND (message IS NULL) = (last_key IS NULL)),
            CHECK (rows <= last_key - first_key + 1)
        ) STRICT;
        CREATE INDEX ledger_block_by_message ON ledger_block (message, id, outcomes);
        CREATE INDEX ledger_block_not_accepted ON ledger_block (message, id, outcomes) WHERE outcomes <> 1;
        CREATE INDEX ledger_block_by_project ON ledger_block (project, id, first_key, last_key);
        CREATE INDEX ledger_block_keys ON ledger_block (message, first_key, last_key);

        CREATE TABLE ledger_hour (
            project TEXT NOT NULL,
            hour INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            PRIMARY KEY (project, hour)
        ) STRICT, WITHOUT ROWID;
        """

    /// The sums that a report shows of a message: deliveries by outcome, reason and platform (as in `app`), accepted ones by
    /// latency. A message to one registration has none: its one entry says it.
    static let messageSums = """
        CREATE TABLE tally (
            message INTEGER NOT NULL REFERENCES message (seq),
            outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'expired', 'cancelled')),
            reason TEXT NOT NULL,
            platform INTEGER NOT NULL CHECK (platform IN (0, 1, 2)),
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (message, outcome, reason, platform)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE latency (
            message INTEGER NOT NULL REFERENCES message (seq),
            bucket INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (message, bucket)
        ) STRICT, WITHOUT ROWID;
        """

    /// A receipt lives as long as the ledger entry of its delivery. `kind`: 0 received, 1 opened, 2 impression,
    /// 3 dismissed.
    /// `recorded_at` follows `meta.ledger_clock` as that of the blocks does. `receipt_tally` are the sums that a report
    /// shows.
    static let receipts = """
        CREATE TABLE receipt (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER NOT NULL,
            registration INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
            project TEXT NOT NULL,
            time INTEGER NOT NULL,
            recorded_at INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX receipt_of ON receipt (message, registration, kind);
        CREATE INDEX receipt_by_project ON receipt (project, recorded_at);

        CREATE TABLE receipt_tally (
            message INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (message, kind)
        ) STRICT, WITHOUT ROWID;
        """

    /// Ended deliveries to the registrations of an app, by the day (UTC, since 1970) when their messages were accepted.
    /// `label` is empty for messages without one; `is_displayed` as in `message`. Written with each settlement, a row
    /// for all of its deliveries that are alike. `received_day`: the receipts of the kind received, by the same;
    /// written with each of them.
    static let deliveryDays = """
        CREATE TABLE delivery_day (
            app INTEGER NOT NULL REFERENCES app (id),
            day INTEGER NOT NULL,
            label TEXT NOT NULL,
            is_displayed INTEGER NOT NULL CHECK (is_displayed IN (0, 1)),
            outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected', 'expired', 'cancelled')),
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (app, day, label, is_displayed, outcome)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE received_day (
            app INTEGER NOT NULL REFERENCES app (id),
            day INTEGER NOT NULL,
            label TEXT NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            PRIMARY KEY (app, day, label)
        ) STRICT, WITHOUT ROWID;
        """
}
