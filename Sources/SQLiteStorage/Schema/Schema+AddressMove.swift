extension Schema {
    /// `former_holder` is the registration that had an address last and has it no more, `address_move` who got an
    /// address from whom: a device that changes its registration while a broadcast runs gets it once. Nothing is
    /// noted while no fan-out has recipients left to find, and all is forgotten when the last one has found them. What
    /// APNs calls dead comes back with no other registration. A new registration takes an address in
    /// ``InsertedRegistrations``.
    static let addressMoves = """
        CREATE TABLE former_holder (
            app INTEGER NOT NULL,
            address BLOB NOT NULL,
            registration INTEGER NOT NULL,
            PRIMARY KEY (app, address)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE address_move (
            registration INTEGER NOT NULL,
            former INTEGER NOT NULL,
            PRIMARY KEY (registration, former)
        ) STRICT, WITHOUT ROWID;
        CREATE TRIGGER address_left AFTER UPDATE OF address, ended_at ON registration
        WHEN old.ended_at IS NULL AND new.end_cause IS NOT 'unregistered'
            AND (new.ended_at IS NOT NULL OR old.address <> new.address)
            AND EXISTS (SELECT 1 FROM fan_out INDEXED BY fan_out_unclaimed WHERE done = 0)
        BEGIN
            INSERT OR REPLACE INTO former_holder (app, address, registration)
                VALUES (old.app, old.address, old.key);
        END;
        CREATE TRIGGER address_taken AFTER UPDATE OF address, ended_at ON registration
        WHEN new.ended_at IS NULL AND (old.ended_at IS NOT NULL OR old.address <> new.address)
        BEGIN
            INSERT OR IGNORE INTO address_move (registration, former)
                SELECT new.key, registration FROM former_holder
                WHERE app = new.app AND address = new.address AND registration <> new.key;
        END;
        CREATE TRIGGER fan_outs_found AFTER UPDATE OF done ON fan_out
        WHEN old.done = 0 AND new.done = 1
            AND NOT EXISTS (SELECT 1 FROM fan_out INDEXED BY fan_out_unclaimed WHERE done = 0)
        BEGIN
            DELETE FROM former_holder;
            DELETE FROM address_move;
        END;
        """
}
