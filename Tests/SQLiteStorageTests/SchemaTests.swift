import Foundation
import GRDB
import Logging
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// The schema guards what the code relies on.
@Suite(.timeLimit(.minutes(5)))
struct SchemaTests {
    /// A statement that breaks a rule, beside rows that keep all of them.
    struct Violation: Sendable, CustomTestStringConvertible {
        let rule: String
        let sql: String

        var testDescription: String { rule }
    }

    private static let rows = """
        INSERT INTO app (id, project, name, platform) VALUES (1, 'demo', 'com.example.app', 0);
        INSERT INTO route (id, project, app, channel) VALUES (1, 'demo', 'com.example.app', 0);
        INSERT INTO registration (key, fid, token, app, address, channel, created_at, refreshed_at)
            VALUES (1, 'cAAAAAAAAAAAAAAAAAAAAA', zeroblob(24), 1, x'd701', 0, 5, 6);
        INSERT INTO topic (id, project, name) VALUES (1, 'demo', 'news');
        INSERT INTO message (seq, id, project, registration, audience, singles, source, bytes, is_displayed, priority,
            time_to_live, lane, collapses_repeats, state, accepted_at, expires_at)
            VALUES (1, CAST('0:1-a' AS BLOB), 'demo', 1, 1, 1, '{}', 2, 0, 10, 60, 0, 1, 'ACTIVE', 7, 60007);
        INSERT INTO fan_out (message, shard, project, after_key, last_key, last_subscription, expected, is_open)
            VALUES (1, 0, 'demo', 0, 9, 0, 1, 1);
        INSERT INTO link_prefix (id, name, project) VALUES (1, 'go.example.com', 'demo');
        INSERT INTO link (id, prefix, suffix, kind, visibility, created_at, parameters)
            VALUES (1, 1, 'aB3x', 2, 3, 5, x'80');
        """

    private static let violations = [
        Violation(
            rule: "two active registrations of one address",
            sql: """
                INSERT INTO registration (fid, token, app, address, channel, created_at, refreshed_at)
                VALUES ('dAAAAAAAAAAAAAAAAAAAAA', zeroblob(24), 1, x'd701', 0, 5, 6)
                """),
        Violation(rule: "a browser without its keys", sql: "UPDATE registration SET channel = 3"),
        Violation(rule: "a browser's keys of a device", sql: "UPDATE registration SET address_detail = zeroblob(81)"),
        Violation(
            rule: "a token of Google's with more than that it was relayed",
            sql: "UPDATE registration SET channel = 2, address_detail = x'02'"),
        Violation(rule: "a channel that does not exist", sql: "UPDATE registration SET channel = 6"),
        Violation(
            rule: "two apps of one platform and id",
            sql: "INSERT INTO app (project, name, platform) VALUES ('demo', 'com.example.app', 0)"),
        Violation(rule: "an end without a cause", sql: "UPDATE registration SET ended_at = 9"),
        Violation(
            rule: "superseded without being replaced",
            sql: "UPDATE registration SET ended_at = 9, end_cause = 'deleted', superseded = 1"),
        Violation(rule: "a quarantine without a reason", sql: "UPDATE registration SET quarantined_at = 9"),
        Violation(rule: "a message to two targets", sql: "UPDATE message SET topic = 1"),
        Violation(rule: "a complete message without a time", sql: "UPDATE message SET state = 'COMPLETE'"),
        Violation(rule: "a time of completion of an active message", sql: "UPDATE message SET completed_at = 9"),
        Violation(rule: "a shard of a route without its parent", sql: "UPDATE fan_out SET only_route = 1"),
        Violation(
            rule: "a page whose bits are not as many as its recipients",
            sql: "INSERT INTO page (message, shard, claimed, open, settled, keys) VALUES (1, 0, 9, 9, x'00', x'01')"),
        Violation(
            rule: "a page without an open delivery",
            sql: "INSERT INTO page (message, shard, claimed, open, settled, keys) VALUES (1, 0, 1, 0, x'00', x'01')"),
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
                VALUES (1, 'demo', 9, 1, 2, 2, 3, x'00')
                """),
        Violation(
            rule: "a digest that is no SHA-256",
            sql: """
                INSERT INTO idempotency (project, key, digest, message, expires_at)
                VALUES ('demo', 'k', zeroblob(31), 1, 9)
                """),
        Violation(rule: "fewer subscribers than none", sql: "UPDATE topic SET subscribers = -1"),
        Violation(
            rule: "two links of one suffix",
            sql: """
                INSERT INTO link (prefix, suffix, kind, visibility, created_at, parameters)
                VALUES (1, 'aB3x', 3, 3, 5, x'80')
                """),
        Violation(
            rule: "a link of no prefix",
            sql: """
                INSERT INTO link (prefix, suffix, kind, visibility, created_at, parameters)
                VALUES (2, 'aB3y', 3, 3, 5, x'80')
                """),
        Violation(rule: "a link without a suffix", sql: "UPDATE link SET suffix = ''"),
        Violation(rule: "a state of a link that does not exist", sql: "UPDATE link SET state = 3"),
        Violation(
            rule: "a counter of a link that is not there",
            sql: "INSERT INTO link_count (link, day, platform, event, count) VALUES (2, 1, 1, 1, 1)"),
        Violation(
            rule: "a platform that does not exist",
            sql: """
                INSERT INTO message_platform (message, platform, priority, time_to_live, expires_at)
                VALUES (1, 3, 10, 60, 60007)
                """),
        Violation(
            rule: "a platform of a message that is not there",
            sql: """
                INSERT INTO message_platform (message, platform, priority, time_to_live, expires_at)
                VALUES (2, 0, 10, 60, 60007)
                """),
        Violation(
            rule: "a span of charts that does not exist",
            sql:
                "INSERT INTO traffic (project, span, step, accepted, rejected, expired, cancelled) VALUES ('p', 3, 1, 1, 0, 0, 0)"
        ),
        Violation(
            rule: "a day of a topic that is not there",
            sql: "INSERT INTO topic_day (topic, day, joined, gone) VALUES (2, 1, 1, 0)"),
        Violation(rule: "text in a column of numbers", sql: "UPDATE message SET audience = 'many'"),
    ]

    @Test(arguments: violations)
    func theSchemaRefuses(_ violation: Violation) throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database)
        try database.write { db in try db.execute(sql: Self.rows) }
        #expect(throws: DatabaseError.self) {
            try database.write { db in try db.execute(sql: violation.sql) }
        }
    }

    /// A store of each version before this one gets what is missing and keeps its rows.
    @Test(arguments: Schema.migrator.migrations.dropLast())
    func anOlderStoreGetsWhatIsMissing(version: String) throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database, upTo: version)
        try database.write { db in try db.execute(sql: Self.rows) }
        try Schema.migrator.migrate(database)
        let fresh = try DatabaseQueue()
        try Schema.migrator.migrate(fresh)
        let tables = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        #expect(
            try database.read { db in try GRDB.Row.fetchAll(db, sql: tables) }
                == fresh.read { db in try GRDB.Row.fetchAll(db, sql: tables) })
        #expect(try database.read { db in try Int.fetchOne(db, sql: "SELECT expires_at FROM message") } == 60_007)
        #expect(try database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM message_platform") } == 0)
    }

    @Test func migratingAgainChangesNothing() throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database)
        let first = try database.read { db in try GRDB.Row.fetchAll(db, sql: "SELECT * FROM sqlite_schema") }
        try Schema.migrator.migrate(database)
        #expect(try database.read { db in try GRDB.Row.fetchAll(db, sql: "SELECT * FROM sqlite_schema") } == first)
    }
}
