extension Schema {
    /// There is no hole between the numbers of rows, hence no sequence: the step that adds one counts on from `numbering`,
    /// which goes on also when all rows were forgotten.
    static let events = """
        CREATE TABLE event (
            number bigint PRIMARY KEY,
            first bigint NOT NULL CHECK (first BETWEEN 1 AND number),
            project text COLLATE "C" NOT NULL,
            time bigint NOT NULL,
            body bytea NOT NULL CHECK (length(body) > 0)
        );
        INSERT INTO meta (name, value) VALUES ('accepted_events', 0), ('forgotten_events', 0);
        CREATE FUNCTION event_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE meta SET value = greatest(value, (SELECT coalesce(max(number), 0) FROM gone))
            WHERE name = 'forgotten_events';
            RETURN NULL;
        END $$;
        CREATE TRIGGER event_forgotten AFTER DELETE ON event REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION event_forgotten();

        CREATE VIEW numbering AS
        SELECT 'message'::text AS name, last_value AS seq FROM message_seq_seq WHERE is_called
        UNION ALL
        SELECT 'event'::text, newest
        FROM (SELECT greatest((SELECT max(number) FROM event),
            (SELECT value FROM meta WHERE name = 'forgotten_events')) AS newest) n
        WHERE newest > 0;
        """
}
