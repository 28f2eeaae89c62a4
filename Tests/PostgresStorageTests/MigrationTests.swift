import Logging
import PostgreSQLClient
import Store
import TestSupport
import Testing

@testable import PostgresStorage

/// How a database comes to the tables of a program, whichever version it is of.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct MigrationTests {
    private static let lock: Int64 = 4711

    private static func migrator(_ versions: Int64, runsFrom: Int64 = 1) -> SchemaMigrator {
        var migrations = Schema.migrations
        for version in (Schema.version + 1)..<(Schema.version + 1 + versions) {
            migrations.append(
                Schema.Migration(
                    version: version, runsFrom: runsFrom,
                    scripts: [
                        """
                        CREATE TABLE later_\(version) (id bigint PRIMARY KEY);
                        INSERT INTO later_\(version) (id) VALUES (\(version));
                        """
                    ]))
        }
        return SchemaMigrator(migrations: migrations)
    }

    private static func migrate(_ database: String, _ migrator: SchemaMigrator) throws {
        let session = PostgreSQLSession(try PostgreSQLConfiguration(url: database), logger: Logger(label: "test"))
        defer { session.close() }
        try migrator.migrate(session, lock: lock)
    }

    private static func versions(_ database: String) async throws -> [String] {
        try await PostgreSQLServer.shared().execute("SELECT version FROM schema_version ORDER BY 1", in: database)
    }

    @Test func anOlderStoreGetsWhatIsMissingAndKeepsItsRows() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        try Self.migrate(database, Self.migrator(0))
        try await server.execute("INSERT INTO project (name, messages) VALUES ('demo', 7)", in: database)
        let first = Schema.version
        #expect(try await Self.versions(database) == (1...first).map(String.init))
        try Self.migrate(database, Self.migrator(2))
        #expect(try await Self.versions(database) == (1...first + 2).map(String.init))
        #expect(try await server.execute("SELECT messages FROM project", in: database) == ["7"])
        #expect(try await server.execute("SELECT id FROM later_\(first + 2)", in: database) == ["\(first + 2)"])
        // Once more: nothing is missing.
        try Self.migrate(database, Self.migrator(2))
        #expect(try await Self.versions(database).count == Int(first) + 2)
        try await server.dropDatabase(database)
    }

    /// A store of each version before this one gets its tables and keeps its rows, and the program of that version goes on
    /// beside it: it removes messages without knowing what came later.
    @Test(arguments: 1..<Schema.migrations.count)
    func aStoreOfAnEarlierVersionGetsTheTablesOfThisOne(version: Int) async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        let earlier = SchemaMigrator(migrations: Array(Schema.migrations.prefix(version)))
        try Self.migrate(database, earlier)
        try await server.execute(
            """
            INSERT INTO message (seq, id, project, audience, singles, source, bytes, is_displayed, priority,
                time_to_live, lane, collapses_repeats, state, accepted_at, expires_at)
            VALUES (1, '\\x01', 'demo', 1, 1, '{}', 2, 0, 10, 60, 0, 1, 'ACTIVE', 7, 60007)
            """, in: database)
        try Self.migrate(database, Self.migrator(0))
        try Self.migrate(database, earlier)
        #expect(try await Self.versions(database) == (1...Schema.version).map(String.init))
        try await server.execute(
            "INSERT INTO message_platform (message, platform, priority, time_to_live, expires_at) VALUES (1, 2, 5, 9, 9007)",
            in: database)
        try await server.execute("DELETE FROM message WHERE seq = 1", in: database)
        #expect(try await server.execute("SELECT count(*) FROM message_platform", in: database) == ["0"])
        try await server.dropDatabase(database)
    }

    @Test func theVersionBeforeGoesOnAndAnOlderOneIsRefused() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        let first = Schema.version
        try Self.migrate(database, Self.migrator(2, runsFrom: first + 1))
        try Self.migrate(database, Self.migrator(1))
        let error = #expect(throws: StoreError.self) { try Self.migrate(database, Self.migrator(0)) }
        #expect(error?.code == .newerSchema)
        #expect(error?.message.contains("version \(first + 2)") == true)
        try await server.dropDatabase(database)
    }

    /// A node of the version before goes on beside the tables of this one, and what it wrote stays.
    @Test func nodesOfTheFirstVersionGoOn() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        try Self.migrate(database, SchemaMigrator(migrations: Array(Schema.migrations.prefix(1))))
        func enter(_ name: String) async throws {
            try await server.execute(
                "INSERT INTO node (name, version, started, heartbeat) VALUES ('\(name)', '1.0', 5, 5)", in: database)
        }
        try await enter("before")
        try Self.migrate(database, Self.migrator(0))
        try Self.migrate(database, SchemaMigrator(migrations: Array(Schema.migrations.prefix(1))))
        try await enter("after")
        try await server.execute(
            "UPDATE node SET heartbeat = 6, address = 'http://a' WHERE name = 'after'", in: database)
        #expect(
            try await server.execute("SELECT name, heartbeat, is_leaving FROM node ORDER BY id", in: database)
                == ["before|5|0", "after|6|0"])
        #expect(try await server.execute("SELECT count(*) FROM provider_token", in: database) == ["0"])
        try await server.dropDatabase(database)
    }

    /// A statement that fails leaves nothing of its migration.
    @Test func aMigrationThatFailsChangesNothing() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        var migrator = Self.migrator(1)
        migrator.migrations[migrator.migrations.count - 1] = Schema.Migration(
            version: Schema.version + 1, runsFrom: 1,
            scripts: ["CREATE TABLE later (id bigint);\nINSERT INTO no_such_table VALUES (1);"])
        #expect(throws: PostgreSQLError.self) { try Self.migrate(database, migrator) }
        #expect(
            try await server.execute("SELECT count(*) FROM pg_class WHERE relname IN ('later', 'meta')", in: database)
                == ["0"])
        try await server.dropDatabase(database)
    }

    @Test func severalAtOnceTakeTurns() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try Self.migrate(database, Self.migrator(1)) } }
            try await group.waitForAll()
        }
        #expect(try await Self.versions(database).count == Int(Schema.version) + 1)
        try await server.dropDatabase(database)
    }

    @Test func statementsEndAtSemicolonsOutsideOfFunctions() {
        let script = """
            CREATE TABLE a (
                b text CHECK (b <> ';')
            );
            CREATE FUNCTION c() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                DELETE FROM a;
                RETURN NULL;
            END $$;

            SELECT 1
            """
        let statements = Schema.statements(of: script)
        #expect(statements.count == 3)
        #expect(statements[0].hasPrefix("CREATE TABLE a") && statements[0].hasSuffix(")"))
        #expect(statements[1].hasSuffix("END $$"))
        #expect(statements[2].contains("SELECT 1"))
    }
}
