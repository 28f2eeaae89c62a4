import TestSupport
import Testing

/// The schema guards what the code relies on.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct SchemaTests {
    /// A statement that breaks a rule, beside rows that keep all of them.
    struct Violation: Sendable, CustomTestStringConvertible {
        let rule: String
        let sql: String
        /// A word of what the server says.
        var mention = "violates"

        var testDescription: String { rule }
    }

    private static let rows = """
        INSERT INTO app (id, project, name, platform) VALUES (1, 'demo', 'com.example.app', 0);
        INSERT INTO route (id, project, app, channel) VALUES (1, 'demo', 'com.example.app', 0);
        INSERT INTO registration (key, fid, token, app, address, channel, created_at, refreshed_at)
            VALUES (1, 'cAAAAAAAAAAAAAAAAAAAAA', '\\x00aa', 1, '\\xd701', 0, 5, 6);
        INSERT INTO topic (id, project, name) VALUES (1, 'demo', 'news');
        INSERT INTO message (seq, id, project, registration, audience, singles, source, bytes, is_displayed, priority,
            time_to_live, lane, collapses_repeats, state, accepted_at, expires_at)
            VALUES (1, '0:1-a', 'demo', 1, 1, 1, '{}', 2, 0, 10, 60, 0, 1, 'ACTIVE', 7, 60007);
        INSERT INTO fan_out (message, shard, project, after_key, last_key, last_subscription, expected, is_open)
            VALUES (1, 0, 'demo', 0, 9, 0, 1, 1);
        INSERT INTO link_prefix (id, name, project) VALUES (1, 'go.example.com', 'demo');
        INSERT INTO link (id, prefix, suffix, kind, visibility, created_at, parameters)
            VALUES (1, 1, 'aB3x', 2, 3, 5, '\\x80');
        """

    private static let violations = [
        Violation(
            rule: "two active registrations of one address",
            sql: """
                INSERT INTO registration (key, fid, token, app, address, channel, created_at, refreshed_at)
                VALUES (2, 'dAAAAAAAAAAAAAAAAAAAAA', '\\x00ab', 1, '\\xd701', 0, 5, 6)
                """, mention: "registration_active"),
        Violation(
            rule: "two registrations of one old token",
            sql: """
                UPDATE registration SET token = '\\x016162';
                INSERT INTO registration (key, fid, token, app, address, channel, created_at, refreshed_at)
                VALUES (2, 'dAAAAAAAAAAAAAAAAAAAAA', '\\x016162', 1, '\\xd702', 0, 5, 6)
                """, mention: "registration_foreign_token"),
        Violation(rule: "a token that is neither bytes nor text", sql: "UPDATE registration SET token = '\\x02aa'"),
        Violation(rule: "a token of nothing", sql: "UPDATE registration SET token = '\\x00'"),
        Violation(rule: "a browser without its keys", sql: "UPDATE registration SET channel = 3"),
        Violation(
            rule: "a browser's keys of a device",
            sql: "UPDATE registration SET address_detail = decode(repeat('00', 81), 'hex')"),
        Violation(
            rule: "a token of Google's with more than that it was relayed",
            sql: "UPDATE registration SET channel = 2, address_detail = '\\x02'"),
        Violation(rule: "a channel that does not exist", sql: "UPDATE registration SET channel = 6"),
        Violation(
            rule: "two apps of one platform and id",
            sql: "INSERT INTO app (id, project, name, platform) VALUES (2, 'demo', 'com.example.app', 0)"),
        Violation(rule: "an end without a cause", sql: "UPDATE registration SET ended_at = 9"),
        Violation(
            rule: "superseded without being replaced",
            sql: "UPDATE registration SET ended_at = 9, end_cause = 'deleted', superseded = 1"),
        Violation(rule: "a quarantine without a reason", sql: "UPDATE registration SET quarantined_at = 9"),
        Violation(rule: "a message to two targets", sql: "UPDATE message SET topic = 1"),
        Violation(rule: "a complete message without a time", sql: "UPDATE message SET state = 'COMPLETE'"),
        Violation(rule: "a time of completion of an active message", sql: "UPDATE message SET completed_at = 9"),
        Violation(rule: "a claim of a message without its route", sql: "UPDATE message SET worker = 1"),
        Violation(rule: "a rate of none", sql: "UPDATE message SET rate = 0"),
        Violation(rule: "a role that does not exist", sql: "UPDATE message SET credential_role = 'owner'"),
        Violation(
            rule: "fewer open messages than none", sql: "INSERT INTO project (name, messages) VALUES ('demo', -1)"),
        Violation(rule: "more claimed of a platform than in all", sql: "UPDATE fan_out SET claimed_web = 1"),
        Violation(rule: "a shard of a route without its parent", sql: "UPDATE fan_out SET only_route = 1"),
        Violation(
            rule: "a page whose bits are not as many as its recipients",
            sql: """
                INSERT INTO page (message, shard, claimed, open, settled, keys) VALUES (1, 0, 9, 9, '\\x00', '\\x01')
                """),
        Violation(
            rule: "a page without an open delivery",
            sql: """
                INSERT INTO page (message, shard, claimed, open, settled, keys) VALUES (1, 0, 1, 0, '\\x00', '\\x01')
                """),
        Violation(
            rule: "more unknown attempts than attempts",
            sql: """
                INSERT INTO pending (message, registration, lane, route, not_before, attempts, unknown_attempts)
                VALUES (1, 1, 0, 1, 0, 1, 2)
                """),
        Violation(
            rule: "a delivery of a message that is not there",
            sql: "INSERT INTO pending (message, registration, lane, route, not_before) VALUES (9, 1, 0, 1, 0)"),
        Violation(
            rule: "a ledger block of accepted and rejected deliveries",
            sql: """
                INSERT INTO ledger_block (message, project, recorded_at, first_key, last_key, rows, outcomes, entries)
                VALUES (1, 'demo', 9, 1, 2, 2, 3, '\\x00')
                """),
        Violation(
            rule: "a digest that is no SHA-256",
            sql: """
                INSERT INTO idempotency (project, key, digest, message, expires_at)
                VALUES ('demo', 'k', '\\x00', 1, 9)
                """),
        Violation(rule: "fewer subscribers than none", sql: "UPDATE topic SET subscribers = -1"),
        Violation(
            rule: "two links of one suffix",
            sql: """
                INSERT INTO link (prefix, suffix, kind, visibility, created_at, parameters)
                VALUES (1, 'aB3x', 3, 3, 5, '\\x80')
                """),
        Violation(
            rule: "a link of no prefix",
            sql: """
                INSERT INTO link (prefix, suffix, kind, visibility, created_at, parameters)
                VALUES (2, 'aB3y', 3, 3, 5, '\\x80')
                """),
        Violation(rule: "a link without a suffix", sql: "UPDATE link SET suffix = ''"),
        Violation(rule: "a state of a link that does not exist", sql: "UPDATE link SET state = 3"),
        Violation(
            rule: "a counter of a link that is not there",
            sql: "INSERT INTO link_count (link, day, platform, event, count) VALUES (2, 1, 1, 1, 1)"),
        Violation(
            rule: "text in a column of numbers", sql: "UPDATE message SET audience = 'many'",
            mention: "invalid input syntax"),
    ]

    @Test(arguments: violations)
    func theSchemaRefuses(_ violation: Violation) async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await SampleDatabase.make()
        try await server.execute(Self.rows, in: database)
        let error = await #expect(throws: ChildProcessError.self) {
            try await server.execute(violation.sql, in: database)
        }
        #expect("\(try #require(error))".contains(violation.mention))
        try await server.dropDatabase(database)
    }

    /// Texts are ordered and compared by their bytes, whatever the language of the database.
    @Test func textsAreComparedByteForByte() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await SampleDatabase.make()
        let others = try await server.execute(
            """
            SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0
                AND a.atttypid = 'text'::regtype AND a.attcollation <> '"C"'::regcollation
            """, in: database)
        #expect(others == [])
        try await server.dropDatabase(database)
    }
}
