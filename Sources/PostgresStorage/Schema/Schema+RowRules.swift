extension Schema {
    /// The rules of the rows that single sends and pages write, as one condition for each table: a function, which a session
    /// compiles once. The server reads the text of each CHECK anew for each statement, and a message had 19 of them: what
    /// they cost beside one is in Benchmarks, *On PostgreSQL*.
    ///
    /// What is there kept the rules so far, so no row is read again. The tables are locked together, before one is changed.
    static let rowRules = """
        LOCK TABLE project, message, fan_out, page, ledger_block IN ACCESS EXCLUSIVE MODE;
        CREATE FUNCTION message_rules(
            registration bigint, topic bigint, condition text, expression text, "user" text, audience bigint,
            singles bigint, bytes bigint, is_displayed bigint, lane bigint, rate bigint, collapses_repeats bigint,
            state text, completed_at bigint, worker bigint, route bigint, block bigint, credential_role text
        ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            RETURN audience >= 0 AND singles >= 0 AND bytes >= 0 AND rate > 0
                AND is_displayed IN (0, 1) AND lane IN (0, 1) AND collapses_repeats IN (0, 1)
                AND state IN ('ACTIVE', 'PAUSED', 'COMPLETE', 'CANCELLED')
                AND credential_role IN ('admin', 'sender', 'client')
                AND num_nonnulls(registration, topic, condition, "user") <= 1
                AND (condition IS NULL) = (expression IS NULL)
                AND (completed_at IS NULL OR state IN ('COMPLETE', 'CANCELLED'))
                AND (completed_at IS NOT NULL OR state <> 'COMPLETE')
                AND (worker IS NULL) = (route IS NULL)
                AND (block IS NULL OR registration IS NOT NULL AND completed_at IS NOT NULL)
                AND (worker IS NULL OR registration IS NOT NULL AND completed_at IS NULL);
        END $$;
        CREATE FUNCTION fan_out_rules(
            after_key bigint, last_key bigint, parent bigint, only_route bigint, expected bigint, claimed bigint,
            done bigint, is_open bigint, passed_ended bigint, passed_quarantined bigint, passed_stale bigint,
            claimed_android bigint, claimed_web bigint, passed_android bigint, passed_web bigint
        ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            RETURN after_key <= last_key AND expected >= 0 AND claimed >= 0 AND done IN (0, 1) AND is_open IN (0, 1)
                AND passed_ended >= 0 AND passed_quarantined >= 0 AND passed_stale >= 0
                AND claimed_android >= 0 AND claimed_web >= 0 AND passed_android >= 0 AND passed_web >= 0
                AND claimed_android + claimed_web <= claimed
                AND passed_android + passed_web <= passed_ended + passed_quarantined + passed_stale
                AND (only_route IS NULL) = (parent IS NULL);
        END $$;
        CREATE FUNCTION page_rules(claimed bigint, open bigint, interruptions bigint, settled bytea)
        RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            RETURN open BETWEEN 1 AND claimed AND interruptions >= 0 AND length(settled) = (claimed + 7) / 8;
        END $$;
        CREATE FUNCTION project_rules(registrations bigint, messages bigint, bytes bigint, topics bigint)
        RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            RETURN registrations >= 0 AND messages >= 0 AND bytes >= 0 AND topics >= 0;
        END $$;
        CREATE FUNCTION ledger_block_rules(
            message bigint, first_key bigint, last_key bigint, rows bigint, outcomes bigint
        ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
        BEGIN
            RETURN first_key > 0 AND rows >= 1 AND outcomes IN (1, 2, 4, 6, 8, 10, 12, 14)
                AND (message IS NULL) = (first_key IS NULL) AND (message IS NULL) = (last_key IS NULL)
                AND rows <= last_key - first_key + 1;
        END $$;

        DO $$
        DECLARE
            old record;
        BEGIN
            -- Those of partitions that have them of their own come after their table's.
            FOR old IN SELECT conrelid::regclass AS name, conname FROM pg_constraint
                WHERE contype = 'c' AND (conrelid IN ('message'::regclass, 'fan_out'::regclass, 'page'::regclass,
                        'project'::regclass, 'ledger_block'::regclass)
                    OR conrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'ledger_block'::regclass))
                ORDER BY conrelid = 'ledger_block'::regclass DESC
            LOOP
                EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', old.name, old.conname);
            END LOOP;
        END $$;
        ALTER TABLE message ADD CONSTRAINT message_rules CHECK (message_rules(
            registration, topic, condition, expression, "user", audience, singles, bytes, is_displayed, lane, rate,
            collapses_repeats, state, completed_at, worker, route, block, credential_role)) NOT VALID;
        ALTER TABLE fan_out ADD CONSTRAINT fan_out_rules CHECK (fan_out_rules(
            after_key, last_key, parent, only_route, expected, claimed, done, is_open, passed_ended, passed_quarantined,
            passed_stale, claimed_android, claimed_web, passed_android, passed_web)) NOT VALID;
        ALTER TABLE page ADD CONSTRAINT page_rules
            CHECK (page_rules(claimed, open, interruptions, settled)) NOT VALID;
        ALTER TABLE project ADD CONSTRAINT project_rules
            CHECK (project_rules(registrations, messages, bytes, topics)) NOT VALID;
        ALTER TABLE ledger_block ADD CONSTRAINT ledger_block_rules
            CHECK (ledger_block_rules(message, first_key, last_key, rows, outcomes)) NOT VALID;
        """
}
