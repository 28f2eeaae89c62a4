extension Schema {
    /// Who had an address last, and who got an address from whom. A new registration takes an address in the code that
    /// inserts it.
    static let addressMoves = """
        CREATE TABLE former_holder (
            app bigint NOT NULL,
            address bytea NOT NULL,
            registration bigint NOT NULL,
            PRIMARY KEY (app, address)
        );

        CREATE TABLE address_move (
            registration bigint NOT NULL,
            former bigint NOT NULL,
            PRIMARY KEY (registration, former)
        );
        CREATE FUNCTION address_left() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT 1 FROM fan_out WHERE done = 0) THEN
                INSERT INTO former_holder (app, address, registration) VALUES (old.app, old.address, old.key)
                    ON CONFLICT (app, address) DO UPDATE SET registration = excluded.registration;
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER address_left AFTER UPDATE OF address, ended_at ON registration FOR EACH ROW
        WHEN (old.ended_at IS NULL AND new.end_cause IS DISTINCT FROM 'unregistered'
            AND (new.ended_at IS NOT NULL OR old.address <> new.address))
        EXECUTE FUNCTION address_left();
        CREATE FUNCTION address_taken() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO address_move (registration, former)
                SELECT new.key, registration FROM former_holder
                WHERE app = new.app AND address = new.address AND registration <> new.key
                ON CONFLICT DO NOTHING;
            RETURN NULL;
        END $$;
        CREATE TRIGGER address_taken AFTER UPDATE OF address, ended_at ON registration FOR EACH ROW
        WHEN (new.ended_at IS NULL AND (old.ended_at IS NOT NULL OR old.address <> new.address))
        EXECUTE FUNCTION address_taken();
        CREATE FUNCTION fan_outs_found() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM fan_out WHERE done = 0) THEN
                DELETE FROM former_holder;
                DELETE FROM address_move;
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER fan_outs_found AFTER UPDATE OF done ON fan_out FOR EACH ROW
        WHEN (old.done = 0 AND new.done = 1)
        EXECUTE FUNCTION fan_outs_found();
        """
}
