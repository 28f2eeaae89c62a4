extension Schema {
    /// The ledger in partitions by ranges of ids, see ``LedgerPartition``. What there is becomes the first of them, as it is:
    /// names, columns and indexes stay, so that the version before goes on.
    ///
    /// No key leads from a block to its message any more: the removal of a message, also of one that has no block of its
    /// own, would ask each partition for it. `doctor --ledger` looks for blocks without their message.
    ///
    /// The whole table is read once, since the server does not take the bound of a range from an index. It reads blocks without what is stored
    /// outside of their rows.
    static let ledgerPartitions = """
        ALTER TABLE ledger_block DROP CONSTRAINT ledger_block_message_fkey;
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
        """
}
