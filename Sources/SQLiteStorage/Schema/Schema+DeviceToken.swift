extension Schema {
    /// `former_holder` is the registration that had a device token last and has it no more, `token_move` who got a
    /// device token from whom: a device that changes its registration while a broadcast runs gets it once. Nothing is
    /// noted while no fan-out has recipients left to find, and all is forgotten when the last one has found them. What
    /// APNs calls dead comes back with no other registration.
    static let tokenMoves = """
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
}
