import GRDB
import Store

// Version 5: ten million registrations on one machine.

extension Schema {
    /// Makes the table of registrations anew, with the same keys, and the tables beside it. The tables that refer to
    /// it keep their foreign keys (sqlite.org/lang_altertable.html#otheralter).
    static func migrateRegistrations(_ db: Database) throws {
        try db.execute(sql: slimRegistrations)
        // Version 4 counts the active registrations of each project; its triggers went with the old table.
        try db.execute(sql: registrationCounts)
        try db.execute(sql: besideRegistrations)
    }

    /// `app` stands for project and bundle id in each row. `token` is not what senders hold but what it is made of, see
    /// ``StoredToken``: a lookup goes by the FID in front of the token, so only a token without a FID in front is in an
    /// index of its own. `environment`: 0 production, 1 sandbox. The unique index over active device tokens also says
    /// that no device gets a push twice. Each index ends
    /// with the key by itself: `registration_by_app` is walked in the order of keys. The other indexes hold
    /// only what is rare.
    private static let slimRegistrations = """
        CREATE TABLE app (
            id INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            name TEXT NOT NULL,
            UNIQUE (project, name)
        ) STRICT;
        INSERT INTO app (project, name) SELECT DISTINCT project, app FROM registration ORDER BY project, app;

        CREATE TABLE registration_5 (
            key INTEGER PRIMARY KEY AUTOINCREMENT,
            fid TEXT NOT NULL,
            token ANY NOT NULL CHECK (typeof(token) IN ('blob', 'text') AND length(token) > 0),
            app INTEGER NOT NULL REFERENCES app (id),
            device_token BLOB NOT NULL CHECK (length(device_token) > 0),
            environment INTEGER NOT NULL CHECK (environment IN (0, 1)),
            user TEXT CHECK (length(user) > 0),
            app_version TEXT,
            created_at INTEGER NOT NULL,
            refreshed_at INTEGER NOT NULL,
            proven_at INTEGER,
            quarantined_at INTEGER,
            quarantine_reason TEXT CHECK ((quarantine_reason IS NULL) = (quarantined_at IS NULL)),
            ended_at INTEGER,
            end_cause TEXT CHECK (end_cause IN ('deleted', 'unregistered', 'replaced')),
            CHECK ((ended_at IS NULL) = (end_cause IS NULL))
        ) STRICT;
        INSERT INTO registration_5 (key, fid, token, app, device_token, environment, app_version, created_at,
                refreshed_at, proven_at, quarantined_at, quarantine_reason, ended_at, end_cause)
            SELECT r.key, r.fid,
                iif(substr(r.token, 1, length(r.fid) + 1) = r.fid || ':', substr(r.token, length(r.fid) + 1), r.token),
                a.id, r.device_token, r.environment = 'sandbox', r.app_version, r.created_at, r.refreshed_at,
                r.proven_at, r.quarantined_at, r.quarantine_reason, r.ended_at, r.end_cause
            FROM registration r CROSS JOIN app a ON a.project = r.project AND a.name = r.app ORDER BY r.key;
        DELETE FROM sqlite_sequence WHERE name = 'registration_5';
        INSERT INTO sqlite_sequence (name, seq)
            SELECT 'registration_5', seq FROM sqlite_sequence WHERE name = 'registration';
        DROP TABLE registration;
        ALTER TABLE registration_5 RENAME TO registration;
        CREATE UNIQUE INDEX registration_fid ON registration (fid);
        CREATE UNIQUE INDEX registration_foreign_token ON registration (token)
            WHERE typeof(token) = 'text' AND substr(token, 1, 1) <> ':';
        CREATE UNIQUE INDEX registration_active ON registration (app, device_token) WHERE ended_at IS NULL;
        CREATE INDEX registration_by_app ON registration (app) WHERE ended_at IS NULL;
        CREATE INDEX registration_by_user ON registration (user, app) WHERE user IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX registration_quarantined ON registration (app)
            WHERE quarantined_at IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX registration_ended ON registration (ended_at) WHERE ended_at IS NOT NULL;
        """

    private static let registrationCounts = """
        CREATE TRIGGER registration_begun AFTER INSERT ON registration WHEN new.ended_at IS NULL BEGIN
            INSERT INTO project (name, registrations) VALUES ((SELECT project FROM app WHERE id = new.app), 1)
                ON CONFLICT (name) DO UPDATE SET registrations = registrations + 1;
        END;
        CREATE TRIGGER registration_ended AFTER UPDATE OF ended_at ON registration
        WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL BEGIN
            UPDATE project SET registrations = registrations - 1
            WHERE name = (SELECT project FROM app WHERE id = old.app);
        END;
        CREATE TRIGGER registration_gone AFTER DELETE ON registration WHEN old.ended_at IS NULL BEGIN
            UPDATE project SET registrations = registrations - 1
            WHERE name = (SELECT project FROM app WHERE id = old.app);
        END;
        """

    /// `registration_audit` says who followed whom on a device; it names FIDs, since it outlives the registrations.
    /// `import_position` is written with the rows of an import, so that another run goes on where they end.
    ///
    /// New subscribers are counted once for a whole batch by the code that inserts them; the trigger did it for each row.
    private static let besideRegistrations = """
        CREATE TABLE registration_audit (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app (id),
            time INTEGER NOT NULL,
            cause TEXT NOT NULL CHECK (cause IN ('user_assigned', 'user_changed', 'device_token_moved')),
            registration TEXT NOT NULL,
            former TEXT CHECK ((former IS NULL) = (cause = 'user_assigned')),
            user TEXT,
            former_user TEXT
        ) STRICT;
        CREATE INDEX registration_audit_of ON registration_audit (registration);
        CREATE INDEX registration_audit_former ON registration_audit (former) WHERE former IS NOT NULL;
        CREATE INDEX registration_audit_time ON registration_audit (time);

        CREATE TABLE import_position (
            source TEXT NOT NULL PRIMARY KEY,
            fingerprint INTEGER NOT NULL,
            line INTEGER NOT NULL CHECK (line >= 0),
            offset INTEGER NOT NULL CHECK (offset >= 0),
            imported INTEGER NOT NULL CHECK (imported >= 0),
            rejected INTEGER NOT NULL CHECK (rejected >= 0)
        ) STRICT, WITHOUT ROWID;

        DROP TRIGGER subscription_begun;
        """
}
