import Logging
import PostgreSQLClient
import Synchronization
import TestSupport

/// Databases with the tables of a store and nothing in them, which one test after the other has by itself: emptying one takes a
/// fraction of making and removing one, and its caches stay warm.
enum ReusedDatabase {
    /// Those that no test has, by the statements that they were made with.
    private static let idle = Mutex<[String: [Made]]>([:])

    private struct Made: Sendable {
        let url: String
        /// The tables, indexes and sequences that it was made with.
        let shape: String
    }

    /// Gives one to `body`.
    ///
    /// - Parameter setup: statements that it is made with, beside those of a store.
    static func with(setup: String = "", _ body: (_ url: String) async throws -> Void) async throws {
        let known = idle.withLock { $0[setup]?.popLast() }
        let made = if let known { known } else { try await make(setup) }
        do {
            try await body(made.url)
        } catch {
            try await PostgreSQLServer.shared().dropDatabase(made.url)
            throw error
        }
        guard try await empty(made) == made.shape else {
            return try await PostgreSQLServer.shared().dropDatabase(made.url)
        }
        idle.withLock { $0[setup, default: []].append(made) }
    }

    private static func make(_ setup: String) async throws -> Made {
        let url = try await SampleDatabase.make()
        try await PostgreSQLServer.shared().execute(setup + preparation, in: url)
        return Made(url: url, shape: try await onSession(url) { try $0.text("SELECT kept.shape()") })
    }

    /// - Returns: its shape, which the test may have changed.
    private static func empty(_ made: Made) async throws -> String {
        try await onSession(made.url) { session in
            _ = try session.text(
                """
                SELECT count(pg_terminate_backend(pid, 5000))::text FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """)
            let shape = try session.text("SELECT kept.shape()")
            if shape == made.shape { _ = try session.text("SELECT kept.empty()::text") }
            return shape
        }
    }

    private static func onSession(
        _ url: String, _ body: @escaping @Sendable (PostgreSQLSession) throws -> String
    ) async throws -> String {
        let configuration = try PostgreSQLConfiguration(url: url)
        return try await onThread {
            let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
            defer { session.close() }
            try session.connect()
            return try body(session)
        }
    }

    /// Keeps what the tables have, and makes the function that brings them back to it: without triggers, which would count what
    /// goes, and the checks of keys.
    private static let preparation = """
        CREATE SCHEMA kept;
        CREATE FUNCTION kept.shape() RETURNS text LANGUAGE sql AS $$
            SELECT md5(string_agg(oid::text || ' ' || relname, ',' ORDER BY oid)) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace
        $$;
        DO $do$
        DECLARE
            item record;
            has_rows boolean;
            body text := 'SET LOCAL session_replication_role = replica;';
        BEGIN
            FOR item IN
                SELECT relname AS name FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY oid
            LOOP
                body := body || format('DELETE FROM public.%I;', item.name);
                EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', item.name) INTO has_rows;
                CONTINUE WHEN NOT has_rows;
                EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', item.name, item.name);
                body := body || format(
                    'INSERT INTO public.%I OVERRIDING SYSTEM VALUE SELECT * FROM kept.%I;', item.name, item.name);
            END LOOP;
            FOR item IN
                SELECT sequencename AS name, last_value, start_value FROM pg_sequences WHERE schemaname = 'public'
            LOOP
                body := body || format(
                    'PERFORM setval(%L, %s, %L);', 'public.' || quote_ident(item.name),
                    coalesce(item.last_value, item.start_value), item.last_value IS NOT NULL);
            END LOOP;
            EXECUTE format(
                'CREATE FUNCTION kept.empty() RETURNS void LANGUAGE plpgsql AS %L', 'BEGIN ' || body || ' END');
        END
        $do$;
        """
}

extension PostgreSQLSession {
    /// The text in the first column of the only row.
    fileprivate func text(_ sql: String) throws -> String {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.next() ? statement.text(0) : ""
    }
}
