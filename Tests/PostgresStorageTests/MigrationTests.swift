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

    /// A lock that is not there in time, and a deadlock with who reads the tables, pass: what was begun runs again.
    @Test func whatOthersAreInTheWayOfRunsAgain() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        try Self.migrate(database, Self.migrator(0))
        try await server.execute("CREATE SEQUENCE tries; CREATE SEQUENCE preparing", in: database)
        func passing(_ sequence: String, _ code: String) -> String {
            """
            DO $$ BEGIN
                IF nextval('\(sequence)') < 3 THEN RAISE EXCEPTION 'in the way' USING ERRCODE = '\(code)'; END IF;
            END $$;
            """
        }
        let later = Schema.Migration(
            version: Schema.version + 1, runsFrom: 1, preparations: [passing("preparing", "40P01")],
            scripts: ["CREATE TABLE later (id bigint);" + passing("tries", "55P03")])
        try Self.migrate(database, SchemaMigrator(migrations: Schema.migrations + [later]))
        #expect(try await Self.versions(database).count == Int(Schema.version) + 1)
        #expect(try await server.execute("SELECT last_value FROM tries", in: database) == ["3"])
        #expect(try await server.execute("SELECT last_value FROM preparing", in: database) == ["3"])
        try await server.dropDatabase(database)
    }

    /// Two nodes find an older store at the same moment: the second one does nothing to the tables of the first.
    @Test func whoComesLaterToAMigrationLeavesItsTablesAlone() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        let all = Schema.migrations
        try Self.migrate(database, SchemaMigrator(migrations: Array(all.prefix(5))))
        let later = Schema.Migration(
            version: 6, runsFrom: 1,
            preparations: ["CREATE TABLE IF NOT EXISTS prepared (id bigint)"] + all[5].preparations,
            scripts: all[5].scripts)
        let session = PostgreSQLSession(try PostgreSQLConfiguration(url: database), logger: Logger(label: "test"))
        defer { session.close() }
        // What the second one found before it came to its turn: version 5. The first one is done by then.
        try SchemaMigrator(migrations: all).migrate(session, lock: Self.lock)
        for text in later.preparations {
            try SchemaMigrator(migrations: Array(all.prefix(5)) + [later]).prepare(text, for: later, session)
        }
        #expect(try await server.execute("SELECT to_regclass('prepared') IS NULL", in: database) == ["t"])
        let bounds = "SELECT count(*) FROM pg_constraint WHERE conname = 'ledger_block_bound'"
        #expect(try await server.execute(bounds, in: database) == ["0"])
        try await server.dropDatabase(database)
    }

    /// All of them at once, from nothing and from a version before: each finds the tables of one of them.
    @Test(arguments: [0, 5])
    func manyMigrateAtOnce(from version: Int) async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        if version > 0 {
            try Self.migrate(database, SchemaMigrator(migrations: Array(Schema.migrations.prefix(version))))
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { try await onThread { try Self.migrate(database, Self.migrator(0)) } } }
            try await group.waitForAll()
        }
        #expect(try await Self.versions(database) == (1...Schema.version).map(String.init))
        let bounds = "SELECT count(*) FROM pg_constraint WHERE conname = 'ledger_block_bound'"
        #expect(try await server.execute(bounds, in: database) == ["0"])
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

    /// Rows that come have one condition for each table to meet, whichever version the tables and partitions were made by.
    @Test(arguments: [0, 1, 5, 6])
    func theRulesOfARowAreOneCondition(from version: Int) async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        if version > 0 {
            try Self.migrate(database, SchemaMigrator(migrations: Array(Schema.migrations.prefix(version))))
        }
        if version == 6 {
            try await server.execute(
                """
                CREATE TABLE ledger_block_own (LIKE ledger_block INCLUDING CONSTRAINTS INCLUDING STORAGE);
                ALTER TABLE ledger_block ATTACH PARTITION ledger_block_own
                FOR VALUES FROM (9000000000000000000) TO (9000000000000000001)
                """, in: database)
        }
        try Self.migrate(database, Self.migrator(0))
        let counts = try await server.execute(
            """
            SELECT conrelid::regclass || ' ' || count(*) FROM pg_constraint
            WHERE contype = 'c' AND (conrelid::regclass::text IN ('message', 'fan_out', 'page', 'project')
                OR conrelid::regclass::text LIKE 'ledger_block%') GROUP BY conrelid ORDER BY 1
            """, in: database)
        var tables = ["fan_out", "ledger_block", "ledger_block_first", "message", "page", "project"]
        if version == 6 { tables.insert("ledger_block_own", at: 3) }
        #expect(counts == tables.map { "\($0) 1" })
        for rows in [0, 3] {
            let error = await #expect(throws: ChildProcessError.self) {
                try await server.execute(
                    """
                    INSERT INTO ledger_block (id, message, project, recorded_at, first_key, last_key, rows, outcomes, entries)
                    VALUES (1, 1, 'demo', 1, 1, 2, \(rows), 1, '\\x00')
                    """, in: database)
            }
            #expect("\(try #require(error))".contains("ledger_block_rules"))
        }
        try await server.dropDatabase(database)
    }

    private static let block = """
        INSERT INTO ledger_block (message, project, recorded_at, first_key, last_key, rows, outcomes, entries)
        VALUES (1, 'demo', $1, 1, 9, 1, 1, '\\x00') RETURNING id
        """

    /// The ledger becomes the first of its partitions as it is, while a program of the version before has it in use: names and
    /// columns stay, ids go on, and each index has those of the rows.
    @Test func aLedgerBecomesTheFirstOfItsPartitions() async throws {
        let server = try await PostgreSQLServer.shared()
        let database = try await server.makeDatabase()
        try Self.migrate(database, SchemaMigrator(migrations: Array(Schema.migrations.prefix(5))))
        try await server.execute(
            """
            INSERT INTO message (seq, id, project, audience, singles, source, bytes, is_displayed, priority,
                time_to_live, lane, collapses_repeats, state, accepted_at, expires_at)
            VALUES (1, '\\x01', 'demo', 1, 1, '{}', 2, 0, 10, 60, 0, 1, 'ACTIVE', 7, 60007)
            """, in: database)
        let before = PostgreSQLSession(try PostgreSQLConfiguration(url: database), logger: Logger(label: "test"))
        defer { before.close() }
        func insert(at time: Int64) throws -> Int64 {
            var id: Int64 = 0
            _ = try before.inTransaction(lock: Self.lock) {
                let statement = try before.statement(Self.block)
                statement.bind(time)
                guard try statement.next() else { return false }
                id = statement.number(0)
                statement.reset()
                return true
            }
            return id
        }
        #expect(try (0..<3).map { try insert(at: $0) } == [1, 2, 3])
        let indexes = "SELECT indexname FROM pg_indexes WHERE tablename = 'ledger_block' ORDER BY 1"
        let names = try await server.execute(indexes, in: database)
        let columns = """
            SELECT column_name, data_type, collation_name, is_nullable FROM information_schema.columns
            WHERE table_name = 'ledger_block' ORDER BY ordinal_position
            """
        let shape = try await server.execute(columns, in: database)

        try Self.migrate(database, Self.migrator(0))
        #expect(try await server.execute(indexes, in: database) == names)
        #expect(try await server.execute(columns, in: database) == shape)
        let attached = try await server.execute(
            """
            SELECT count(*) FROM pg_index i JOIN pg_inherits h ON h.inhparent = i.indexrelid
            WHERE i.indrelid = 'ledger_block'::regclass AND i.indisvalid
            """, in: database)
        #expect(attached == ["\(names.count)"])
        // The bound was checked beforehand, and is that of the partition now.
        let checks = "SELECT conname FROM pg_constraint WHERE conname LIKE 'ledger_block_bound%'"
        #expect(try await server.execute(checks, in: database) == [])
        #expect(try insert(at: 3) == 4, "with the statement that was prepared before")
        let blocks = try await server.execute(
            "SELECT tableoid::regclass, id, recorded_at FROM ledger_block ORDER BY id", in: database)
        #expect(blocks == (1...4).map { "ledger_block_first|\($0)|\($0 - 1)" })
        // What the version before does with blocks.
        try await server.execute(
            """
            UPDATE ledger_block SET rows = 2 WHERE id = 1; DELETE FROM ledger_block WHERE id = 2;
            SELECT nextval('ledger_block_id_seq')
            """, in: database)
        let left = try await server.execute("SELECT id, rows FROM ledger_block ORDER BY id", in: database)
        #expect(left == ["1|2", "3|1", "4|1"])
        #expect(try insert(at: 4) == 6)
        let error = await #expect(throws: ChildProcessError.self) {
            try await server.execute(
                "UPDATE ledger_block SET outcomes = 3 WHERE id = 1", in: database)
        }
        #expect("\(try #require(error))".contains("ledger_block_rules"))
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
}
