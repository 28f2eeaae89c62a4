import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient
@testable import PostgresStorage

/// What tells after a lost COMMIT whether a transaction took place.
@Suite(.timeLimit(.minutes(2)), .enabled(if: PostgreSQLServer.isInstalled))
struct CommitCountTests {
    /// The first one was committed and its process never heard of it. The second one, whose COMMIT the server did not see, must
    /// not be found by what the first one left.
    @Test func aTransactionIsNotTakenForTheOneBeforeIt() async throws {
        let database = try await SampleDatabase.make()
        var configuration = try PostgreSQLConfiguration(url: database)
        configuration.translate = { StatementText.postgreSQL($0) }
        let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
        try session.connect()
        let commits = CommitCount()
        let first = commits.mark(session)
        #expect(try !first.isThere())
        let isCommitted = try session.inTransaction(lock: PostgresEngine.writeLock) {
            try first.leave()
            return true
        }
        #expect(try isCommitted && first.isThere())
        #expect(try !commits.mark(session).isThere())
        session.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }
}
