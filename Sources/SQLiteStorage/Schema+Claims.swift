import GRDB
import Store

// Version 10: what a claim and an export need to know of what changed meanwhile.

extension Schema {
    /// Makes the tables of changes. Like every version, it does not change after its release.
    static func migrateClaims(_ db: Database) throws {
        try db.execute(sql: registrationChanges)
        try db.execute(sql: tokenMoves)
        try db.execute(sql: registrationClock)
    }

    /// `registration_change` names the registrations whose device token, environment, user, end or quarantine changed
    /// last, by an ascending number: a claim that read its recipients in a snapshot looks whether one of them is behind
    /// the number that the snapshot showed. The newest ten thousand are kept; a snapshot that is older is read again
    /// as a whole.
    private static let registrationChanges = """
        CREATE TABLE registration_change (
            number INTEGER PRIMARY KEY,
            registration INTEGER NOT NULL
        ) STRICT;
        CREATE TRIGGER registration_changed
        AFTER UPDATE OF device_token, environment, user, ended_at, quarantined_at ON registration
        WHEN old.device_token <> new.device_token OR old.environment <> new.environment OR old.user IS NOT new.user
            OR (old.ended_at IS NULL) <> (new.ended_at IS NULL)
            OR (old.quarantined_at IS NULL) <> (new.quarantined_at IS NULL)
        BEGIN
            INSERT INTO registration_change (registration) VALUES (new.key);
            DELETE FROM registration_change WHERE number <= (SELECT max(number) FROM registration_change) - 10000;
        END;
        """

    /// `former_holder` is the registration that had a device token last and has it no more, `token_move` who got a device
    /// token from whom: a device that changes its registration while a broadcast runs gets it once. Nothing is noted
    /// while no fan-out has recipients left to find, and all is forgotten when the last one has found them. What APNs
    /// calls dead comes back with no other registration.
    private static let tokenMoves = """
        CREATE TABLE former_holder (
            app INTEGER NOT NULL,
            device_token BLOB NOT NULL,
            registration INTEGER NOT NULL,
            PRIMARY KEY (app, device_token)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE token_move (
            registration INTEGER NOT NULL,
            former INTEGER NOT NULL,
            PRIMARY KEY (registration, former)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER device_token_left AFTER UPDATE OF device_token, ended_at ON registration
        WHEN old.ended_at IS NULL AND new.end_cause IS NOT 'unregistered'
            AND (new.ended_at IS NOT NULL OR old.device_token <> new.device_token)
            AND EXISTS (SELECT 1 FROM fan_out INDEXED BY fan_out_unclaimed WHERE done = 0)
        BEGIN
            INSERT OR REPLACE INTO former_holder (app, device_token, registration)
                VALUES (old.app, old.device_token, old.key);
        END;
        CREATE TRIGGER device_token_taken AFTER UPDATE OF device_token, ended_at ON registration
        WHEN new.ended_at IS NULL AND (old.ended_at IS NOT NULL OR old.device_token <> new.device_token)
        BEGIN
            INSERT OR IGNORE INTO token_move (registration, former)
                SELECT new.key, registration FROM former_holder
                WHERE app = new.app AND device_token = new.device_token AND registration <> new.key;
        END;
        CREATE TRIGGER device_token_new AFTER INSERT ON registration WHEN new.ended_at IS NULL
        BEGIN
            INSERT OR IGNORE INTO token_move (registration, former)
                SELECT new.key, registration FROM former_holder
                WHERE app = new.app AND device_token = new.device_token;
        END;
        CREATE TRIGGER fan_outs_found AFTER UPDATE OF done ON fan_out
        WHEN old.done = 0 AND new.done = 1
            AND NOT EXISTS (SELECT 1 FROM fan_out INDEXED BY fan_out_unclaimed WHERE done = 0)
        BEGIN
            DELETE FROM former_holder;
            DELETE FROM token_move;
        END;
        """

    /// `meta.registration_clock` is the newest time of a refresh, to the minute: when it is ahead of the clock, times of
    /// refreshes are to be set back.
    private static let registrationClock = """
        INSERT INTO meta (name, value)
            SELECT 'registration_clock', ifnull(max(refreshed_at), 0) FROM registration;
        CREATE TRIGGER registration_clock_new AFTER INSERT ON registration
        WHEN new.refreshed_at > 60000 + (SELECT value FROM meta WHERE name = 'registration_clock')
        BEGIN
            UPDATE meta SET value = new.refreshed_at WHERE name = 'registration_clock';
        END;
        CREATE TRIGGER registration_clock_refreshed AFTER UPDATE OF refreshed_at ON registration
        WHEN new.refreshed_at > 60000 + (SELECT value FROM meta WHERE name = 'registration_clock')
        BEGIN
            UPDATE meta SET value = new.refreshed_at WHERE name = 'registration_clock';
        END;
        """
}
