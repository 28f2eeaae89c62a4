import Foundation
import GRDB
import Store

// Version 4: what a worker claims is known by its keys, belongs to a worker, and can be told by route.

extension Schema {
    /// Makes the tables of work anew, with everything that is open in the old ones.
    static func migrateWork(_ db: Database) throws {
        try db.execute(sql: parties)
        try db.execute(sql: messagesOfWork)
        try db.execute(sql: fanOuts)
        try db.execute(sql: convertedWork)
        try convertPages(db)
        try db.execute(sql: finishedConversion)
        try db.execute(sql: workIndexes)
        try db.execute(sql: loadTriggers)
    }

    /// `project` holds what accept asks for without counting: active registrations, and the load of messages that are
    /// not complete. `change` ascends with each change of the load, so that after a commit only what changed is read.
    private static let parties = """
        CREATE TABLE project (
            name TEXT NOT NULL PRIMARY KEY,
            registrations INTEGER NOT NULL DEFAULT 0 CHECK (registrations >= 0),
            messages INTEGER NOT NULL DEFAULT 0 CHECK (messages >= 0),
            bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
            change INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX project_changed ON project (change);
        INSERT INTO project (name, registrations)
            SELECT project, count(*) FROM registration WHERE ended_at IS NULL GROUP BY project;
        CREATE INDEX registration_by_project ON registration (project, key) WHERE ended_at IS NULL;
        CREATE TRIGGER registration_begun AFTER INSERT ON registration WHEN new.ended_at IS NULL BEGIN
            INSERT INTO project (name, registrations) VALUES (new.project, 1)
                ON CONFLICT (name) DO UPDATE SET registrations = registrations + 1;
        END;
        CREATE TRIGGER registration_ended AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
            UPDATE project SET registrations = registrations - 1 WHERE name = old.project;
        END;
        CREATE TRIGGER registration_gone AFTER DELETE ON registration WHEN old.ended_at IS NULL BEGIN
            UPDATE project SET registrations = registrations - 1 WHERE name = old.project;
        END;

        CREATE TABLE route (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            app TEXT NOT NULL,
            environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
            UNIQUE (project, app, environment)
        ) STRICT;

        CREATE TABLE worker (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            lease_until INTEGER NOT NULL,
            ended_at INTEGER
        ) STRICT;
        CREATE INDEX worker_running ON worker (lease_until) WHERE ended_at IS NULL;
        """

    /// A message has one of `registration`, `topic`, `condition` (with `expression`, its parsed form) and `user`, or
    /// none of them: a list. `singles` are the deliveries that were made at accept, each a row of `pending`; the others
    /// are made by fan-outs. `bytes` is what counts against the limits. A message that was cancelled has no
    /// `completed_at` while something of it is open.
    ///
    /// Its registration may be purged long after it ended, hence no foreign key.
    private static let messagesOfWork = """
        CREATE TABLE message_4 (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            project TEXT NOT NULL,
            registration INTEGER,
            topic INTEGER REFERENCES topic (id),
            condition TEXT,
            expression TEXT,
            user TEXT,
            audience INTEGER NOT NULL CHECK (audience >= 0),
            singles INTEGER NOT NULL CHECK (singles >= 0),
            source TEXT NOT NULL,
            bytes INTEGER NOT NULL CHECK (bytes >= 0),
            apns_id TEXT,
            label TEXT,
            is_displayed INTEGER NOT NULL CHECK (is_displayed IN (0, 1)),
            collapse_key TEXT,
            priority INTEGER NOT NULL,
            time_to_live INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            rate INTEGER CHECK (rate > 0),
            finish_by INTEGER,
            collapses_repeats INTEGER NOT NULL CHECK (collapses_repeats IN (0, 1)),
            state TEXT NOT NULL CHECK (state IN ('ACTIVE', 'PAUSED', 'COMPLETE', 'CANCELLED')),
            accepted_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            completed_at INTEGER,
            CHECK ((registration IS NOT NULL) + (topic IS NOT NULL) + (condition IS NOT NULL) + (user IS NOT NULL) <= 1),
            CHECK ((condition IS NULL) = (expression IS NULL)),
            CHECK (completed_at IS NULL OR state IN ('COMPLETE', 'CANCELLED')),
            CHECK (completed_at IS NOT NULL OR state <> 'COMPLETE')
        ) STRICT;
        INSERT INTO message_4 (seq, id, project, registration, topic, audience, singles, source, bytes, apns_id, label,
                is_displayed, collapse_key, priority, time_to_live, lane, collapses_repeats, state, accepted_at,
                expires_at, completed_at)
            SELECT seq, id, project, registration, topic, audience, topic IS NULL, source, octet_length, apns_id, label,
                is_displayed, collapse_key, priority, time_to_live, lane, 0, state, accepted_at, expires_at,
                completed_at
            FROM (SELECT *, length(CAST(source AS BLOB)) AS octet_length FROM message);
        DROP TABLE message;
        ALTER TABLE message_4 RENAME TO message;
        CREATE INDEX message_by_project ON message (project);
        CREATE INDEX message_open ON message (project, state) WHERE state <> 'COMPLETE';
        CREATE INDEX message_cancelled ON message (seq) WHERE state = 'CANCELLED' AND completed_at IS NULL;
        DELETE FROM meta WHERE name = 'active_messages';

        CREATE TABLE message_list (
            message INTEGER NOT NULL REFERENCES message (seq),
            last_key INTEGER NOT NULL,
            keys BLOB NOT NULL,
            PRIMARY KEY (message, last_key)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER message_list_done AFTER UPDATE OF completed_at ON message
        WHEN old.completed_at IS NULL AND new.completed_at IS NOT NULL AND new.registration IS NULL BEGIN
            DELETE FROM message_list WHERE message = new.seq;
        END;

        CREATE TABLE idempotency (
            project TEXT NOT NULL,
            key TEXT NOT NULL CHECK (length(key) > 0),
            digest BLOB NOT NULL CHECK (length(digest) = 32),
            message INTEGER NOT NULL REFERENCES message (seq),
            used_at INTEGER NOT NULL,
            PRIMARY KEY (project, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX idempotency_used ON idempotency (used_at);
        """

    /// `fan_out` is a shard: registrations with keys in (`after_key`, `last_key`]. One with a `parent` is for those whom
    /// its parent came by while their route was held: they are named in `set_aside`, so that each recipient is decided
    /// about once, whatever becomes of its route. `last_subscription` is the number of the newest subscription at
    /// accept, `refreshed_since` the policy on stale registrations. `is_open`: whether there is something to claim now,
    /// so neither while the message is paused nor after it was cancelled.
    ///
    /// A `page` lives from its claim until its last delivery is settled or has moved to `pending`. `keys` are its
    /// recipients, packed; `settled` has a bit for each of them. Without a worker it was given back.
    ///
    /// `pending` holds single deliveries and retries, waiting (no worker) or claimed. `is_held`: the message is paused or
    /// cancelled. `route` is put right when the row is claimed. Its registration may be purged in the end, hence no
    /// foreign key.
    private static let fanOuts = """
        CREATE TABLE fan_out_4 (
            message INTEGER NOT NULL REFERENCES message (seq),
            shard INTEGER NOT NULL,
            project TEXT NOT NULL,
            after_key INTEGER NOT NULL,
            last_key INTEGER NOT NULL CHECK (after_key <= last_key),
            last_subscription INTEGER NOT NULL,
            refreshed_since INTEGER,
            parent INTEGER,
            only_route INTEGER REFERENCES route (id),
            expected INTEGER NOT NULL CHECK (expected >= 0),
            claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed >= 0),
            done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
            is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
            PRIMARY KEY (message, shard),
            CHECK ((only_route IS NULL) = (parent IS NULL))
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE set_aside (
            message INTEGER NOT NULL REFERENCES message (seq),
            shard INTEGER NOT NULL,
            last_key INTEGER NOT NULL,
            keys BLOB NOT NULL,
            PRIMARY KEY (message, shard, last_key)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER set_aside_done AFTER UPDATE OF completed_at ON message
        WHEN old.completed_at IS NULL AND new.completed_at IS NOT NULL AND new.registration IS NULL BEGIN
            DELETE FROM set_aside WHERE message = new.seq;
        END;

        CREATE TABLE page_4 (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            message INTEGER NOT NULL,
            shard INTEGER NOT NULL,
            worker INTEGER REFERENCES worker (id),
            claimed INTEGER NOT NULL,
            open INTEGER NOT NULL CHECK (open BETWEEN 1 AND claimed),
            interruptions INTEGER NOT NULL DEFAULT 0 CHECK (interruptions >= 0),
            settled BLOB NOT NULL CHECK (length(settled) = (claimed + 7) / 8),
            keys BLOB NOT NULL,
            FOREIGN KEY (message, shard) REFERENCES fan_out_4 (message, shard)
        ) STRICT;

        CREATE TABLE pending_4 (
            message INTEGER NOT NULL REFERENCES message (seq),
            registration INTEGER NOT NULL,
            lane INTEGER NOT NULL CHECK (lane IN (0, 1)),
            route INTEGER NOT NULL REFERENCES route (id),
            worker INTEGER REFERENCES worker (id),
            is_held INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),
            not_before INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            unknown_attempts INTEGER NOT NULL DEFAULT 0 CHECK (unknown_attempts BETWEEN 0 AND attempts),
            last_cause TEXT,
            probing_since INTEGER,
            refused_by TEXT
                CHECK (refused_by IN ('production', 'sandbox') AND (refused_by IS NULL) = (probing_since IS NULL)),
            PRIMARY KEY (message, registration)
        ) STRICT, WITHOUT ROWID;
        """

    /// What was claimed in the old tables belongs to a worker whose lease is over.
    private static let convertedWork = """
        INSERT INTO worker (name, lease_until) VALUES ('before version 4', 0);
        INSERT INTO fan_out_4 (message, shard, project, after_key, last_key, last_subscription, expected, claimed, done,
                is_open)
            SELECT f.message, f.shard, m.project, min(f.after_key, f.last_key), f.last_key, f.last_subscription,
                f.expected, f.claimed, f.done, m.state = 'ACTIVE' AND f.done = 0
            FROM fan_out f JOIN message m ON m.seq = f.message;
        INSERT INTO route (project, app, environment)
            SELECT DISTINCT r.project, r.app, r.environment FROM pending p JOIN registration r ON r.key = p.registration;
        INSERT INTO pending_4 (message, registration, lane, route, worker, is_held, not_before, attempts,
                unknown_attempts, last_cause, probing_since, refused_by)
            SELECT p.message, p.registration, p.lane, t.id, iif(p.claimed, 1, NULL), m.state <> 'ACTIVE', p.not_before,
                p.attempts, p.unknown_attempts, p.last_cause, p.probing_since, p.refused_by
            FROM pending p JOIN registration r ON r.key = p.registration JOIN message m ON m.seq = p.message
            JOIN route t ON t.project = r.project AND t.app = r.app AND t.environment = r.environment;
        """

    /// Whom an old page is for is evaluated now, for the last time, as it was when it was handed out again: subscribers
    /// in its range without a ledger row and without a retry. Those that are gone leave the count of claimed deliveries.
    private static func convertPages(_ db: Database) throws {
        let pages = try Row.fetchAll(
            db,
            sql: """
                SELECT p.id, p.message, p.shard, p.after_key, p.last_key, p.claimed - p.settled, p.released,
                    p.interruptions, f.topic, f.last_subscription
                FROM page p JOIN fan_out f ON f.message = p.message AND f.shard = p.shard ORDER BY p.id
                """)
        for page in pages {
            let message: Int64 = page[1]
            let shard: Int64 = page[2]
            let open: Int = page[5]
            let isReleased: Bool = page[6]
            let keys = try Int64.fetchAll(
                db,
                sql: """
                    SELECT s.registration FROM subscription s JOIN registration r ON r.key = s.registration
                    WHERE s.topic = ?1 AND s.registration > ?2 AND s.registration <= ?3 AND s.number <= ?4
                        AND r.ended_at IS NULL AND r.quarantined_at IS NULL
                        AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.message = ?5 AND l.registration = s.registration)
                        AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.message = ?5 AND p.registration = s.registration)
                    ORDER BY s.registration
                    """, arguments: [page[8] as Int64, page[3] as Int64, page[4] as Int64, page[9] as Int64, message])
            try db.execute(
                sql: "UPDATE fan_out_4 SET claimed = claimed + ? WHERE message = ? AND shard = ?",
                arguments: [keys.count - open, message, shard])
            guard !keys.isEmpty else { continue }
            try db.execute(
                sql: """
                    INSERT INTO page_4 (id, message, shard, worker, claimed, open, interruptions, settled, keys)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    page[0] as Int64, message, shard, isReleased ? nil : 1, keys.count, keys.count, page[7] as Int64,
                    KeyBitmap(count: keys.count).data, PackedKeys.data(keys),
                ])
        }
    }

    /// The new tables take their names; numbers of pages are not used again. A message whose last open deliveries were
    /// those of registrations that are gone is complete.
    private static let finishedConversion = """
        INSERT INTO sqlite_sequence (name, seq) SELECT 'page_4', 0
            WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'page_4');
        UPDATE sqlite_sequence SET seq = max(seq, (SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'page'))
            WHERE name = 'page_4';
        DROP TABLE pending;
        DROP TABLE page;
        DROP TABLE fan_out;
        ALTER TABLE fan_out_4 RENAME TO fan_out;
        ALTER TABLE page_4 RENAME TO page;
        ALTER TABLE pending_4 RENAME TO pending;
        UPDATE fan_out SET is_open = 1 WHERE (message, shard) IN (
            SELECT p.message, p.shard FROM page p JOIN message m ON m.seq = p.message
            WHERE p.worker IS NULL AND m.state = 'ACTIVE');
        UPDATE message SET state = 'COMPLETE',
            completed_at = ifnull((SELECT max(ended_at) FROM ledger WHERE message = message.seq), accepted_at)
        WHERE completed_at IS NULL AND state <> 'CANCELLED'
            AND NOT EXISTS (SELECT 1 FROM page WHERE message = message.seq)
            AND NOT EXISTS (SELECT 1 FROM pending WHERE message = message.seq)
            AND NOT EXISTS (SELECT 1 FROM fan_out WHERE message = message.seq AND done = 0);
        """

    /// Each index holds what one question asks for and no more, so that it is empty in a gateway that has caught up:
    /// `fan_out_open` is walked by project, `pending_due` by route, the others are counted for the backlog. Columns that
    /// are the same in all of an index are in it so that SQLite need not look at the table.
    private static let workIndexes = """
        CREATE INDEX fan_out_open ON fan_out (project, message, shard, is_open) WHERE is_open = 1;
        CREATE INDEX fan_out_unclaimed ON fan_out (done, expected, claimed) WHERE done = 0;
        CREATE UNIQUE INDEX fan_out_by_parent ON fan_out (message, parent, only_route) WHERE parent IS NOT NULL;
        CREATE INDEX page_open ON page (message, open);
        CREATE INDEX page_claimed ON page (worker) WHERE worker IS NOT NULL;
        CREATE INDEX page_released ON page (message, shard, id) WHERE worker IS NULL;
        CREATE INDEX pending_due ON pending (lane, route, not_before, worker, is_held)
            WHERE worker IS NULL AND is_held = 0;
        CREATE INDEX pending_claimed ON pending (worker, lane) WHERE worker IS NOT NULL;
        CREATE INDEX pending_held ON pending (lane, worker, is_held) WHERE worker IS NULL AND is_held = 1;
        """

    private static let loadTriggers = """
        INSERT INTO project (name, messages, bytes, change)
            SELECT project, count(*), sum(bytes), 1 FROM message WHERE completed_at IS NULL GROUP BY project
            ON CONFLICT (name) DO UPDATE SET messages = excluded.messages, bytes = excluded.bytes, change = 1;
        CREATE TRIGGER message_begun AFTER INSERT ON message WHEN new.completed_at IS NULL BEGIN
            INSERT INTO project (name, messages, bytes, change)
                VALUES (new.project, 1, new.bytes, 1 + ifnull((SELECT max(change) FROM project), 0))
                ON CONFLICT (name) DO UPDATE
                    SET messages = messages + 1, bytes = bytes + excluded.bytes, change = excluded.change;
        END;
        CREATE TRIGGER message_ended AFTER UPDATE OF completed_at ON message
        WHEN old.completed_at IS NULL AND new.completed_at IS NOT NULL BEGIN
            UPDATE project SET messages = messages - 1, bytes = bytes - old.bytes,
                change = 1 + (SELECT max(change) FROM project)
            WHERE name = old.project;
        END;
        """
}
