extension Schema {
    /// Takes the key that leads from blocks to messages away: for that moment neither table can be read.
    static let ledgerKeyDropped = """
        DO $$
        BEGIN
            IF EXISTS (SELECT 1 FROM pg_constraint
                WHERE conrelid = to_regclass('ledger_block') AND conname = 'ledger_block_message_fkey')
            THEN ALTER TABLE ledger_block DROP CONSTRAINT ledger_block_message_fkey; END IF;
        END $$;
        """

    /// The bound of the first partition, of which rows that come are held to. One that an earlier try left behind goes: its day
    /// may be over.
    static let ledgerBound = """
        DO $$
        BEGIN
            IF to_regclass('ledger_block') IS NULL THEN RETURN; END IF;
            ALTER TABLE ledger_block DROP CONSTRAINT IF EXISTS ledger_block_bound;
            EXECUTE format('ALTER TABLE ledger_block ADD CONSTRAINT ledger_block_bound CHECK (id < %s) NOT VALID',
                CAST(floor(extract(epoch FROM clock_timestamp()) / 86400) AS bigint) << 36);
        END $$;
        """

    /// Reads the whole ledger once, without what is stored outside of its rows, beside everybody who reads and writes it: the
    /// server does not take a bound from an index. With a checked bound a table becomes a partition without another look.
    static let ledgerBoundChecked = """
        DO $$
        BEGIN
            IF to_regclass('ledger_block') IS NULL THEN RETURN; END IF;
            ALTER TABLE ledger_block VALIDATE CONSTRAINT ledger_block_bound;
        END $$;
        """

    /// The ledger in partitions by ranges of ids, see ``LedgerPartition``. What there is becomes the first of them, as it is:
    /// names, columns and indexes stay, so that the version before goes on.
    ///
    /// No key leads from a block to its message any more: the removal of a message, also of one that has no block of its
    /// own, would ask each partition for it. `doctor --ledger` looks for blocks without their message.
    static let ledgerPartitions = """
        ALTER TABLE ledger_block DROP CONSTRAINT IF EXISTS ledger_block_message_fkey;
        ALTER TABLE ledger_block RENAME TO ledger_block_first;
        ALTER SEQUENCE ledger_block_id_seq RENAME TO ledger_block_first_id_seq;
        ALTER INDEX ledger_block_pkey RENAME TO ledger_block_first_pkey;
        ALTER INDEX ledger_block_by_message RENAME TO ledger_block_first_by_message;
        ALTER INDEX ledger_block_not_accepted RENAME TO ledger_block_first_not_accepted;
        ALTER INDEX ledger_block_by_project RENAME TO ledger_block_first_by_project;
        ALTER INDEX ledger_block_keys RENAME TO ledger_block_first_keys;

        CREATE TABLE ledger_block (
            LIKE ledger_block_first INCLUDING CONSTRAINTS INCLUDING IDENTITY INCLUDING STORAGE,
            PRIMARY KEY (id)
        ) PARTITION BY RANGE (id);
        ALTER TABLE ledger_block DROP CONSTRAINT IF EXISTS ledger_block_bound;
        CREATE INDEX ledger_block_by_message ON ledger_block (message, id, outcomes);
        CREATE INDEX ledger_block_not_accepted ON ledger_block (message, id, outcomes) WHERE outcomes <> 1;
        CREATE INDEX ledger_block_by_project ON ledger_block (project, id, first_key, last_key);
        CREATE INDEX ledger_block_keys ON ledger_block (message, first_key, last_key, id);

        SELECT setval('ledger_block_id_seq', last_value, is_called) FROM ledger_block_first_id_seq;
        ALTER TABLE ledger_block_first ALTER COLUMN id DROP IDENTITY;
        DO $$
        BEGIN
            EXECUTE format('ALTER TABLE ledger_block ATTACH PARTITION ledger_block_first FOR VALUES FROM (MINVALUE) TO (%s)',
                CAST(floor(extract(epoch FROM clock_timestamp()) / 86400) AS bigint) << 36);
        END $$;
        ALTER TABLE ledger_block_first DROP CONSTRAINT IF EXISTS ledger_block_bound;
        """
}
