import Logging
import PostgresStorage
import Store
import TestSupport
import Testing

@testable import SQLStorage

/// Statements that go through whole tables are not ended by the limit of all others.
@Suite(.timeLimit(.minutes(2)), .enabled(if: PostgreSQLServer.isInstalled))
struct WholeTableTests {
    @Test("A read of whole tables takes longer than any other statement may")
    func longRead() async throws {
        let database = try await SampleDatabase.make()
        let limited = database + (database.contains("?") ? "&" : "?") + "options=-c%20statement_timeout%3D50ms"
        let store = try PostgresStore.open(url: limited, role: .command, logger: Logger(label: "test"))
        let slow = "SELECT count(*) FROM pg_sleep(0.2)"
        await #expect(throws: StoreError.self) { try await store.read { db in try db.number(slow) } }
        #expect(try await store.readWholeTables { db in try db.number(slow) } == 1)
        // A plan that goes through a table or hashes it is no detour then.
        let off = """
            SELECT count(*) FROM pg_settings
            WHERE name IN ('enable_seqscan', 'enable_hashjoin', 'enable_mergejoin') AND setting = 'off'
            """
        #expect(try await store.read { db in try db.number(off) } == 3)
        #expect(try await store.readWholeTables { db in try db.number(off) } == 0)
        #expect(try await store.check() == [])
        try store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }
}
