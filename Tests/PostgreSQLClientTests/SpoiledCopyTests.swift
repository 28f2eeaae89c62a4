import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// Connections that are cut or changed at any byte of a COPY.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(5)), .serialized)
struct SpoiledCopyTests {
    private static let rounds = Int(testSetting("HERALD_FUZZ_ROUNDS", 40))
    /// With a kilobyte each.
    private static let rows: Int64 = 300

    /// Replaces the rows of the table by those of a round.
    ///
    /// - Returns: whether that is committed; an error is an answer, too, and tells nothing.
    private static func replace(_ round: Int, _ configuration: PostgreSQLConfiguration) async throws -> Bool {
        try await onThread {
            let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
            defer { session.close() }
            do {
                return try session.inTransaction(lock: testLock) {
                    try session.post("DELETE FROM t")
                    let first = Int64(round) * 1000
                    try session.copyRows(first + 1...first + rows)
                    return true
                }
            } catch is PostgreSQLError {
                return false
            }
        }
    }

    /// - Parameter plan: what becomes of the first connection of a round.
    /// - Returns: the rounds that were committed.
    @discardableResult
    private func run(
        rounds: Int = rounds, seed: UInt64, _ plan: (inout SeededRandom, _ round: Int) -> WireProxy.Plan
    ) async throws -> Int {
        var committed = 0
        let database = try await TestDatabase()
        try await database.withSession { try $0.execute("CREATE TABLE t (x bigint, pad bytea)") }
        var random = SeededRandom(seed: seed)
        for round in 1...rounds {
            let plan = plan(&random, round)
            let proxy = try WireProxy(to: database.server) { $0 == 0 ? plan : .pass }
            var configuration = try PostgreSQLConfiguration(
                url: database.server.url(database.url, at: proxy.host, port: proxy.port))
            configuration.connectTimeout = .seconds(2)
            configuration.answerTimeout = .milliseconds(500)
            let isCommitted = try await Self.replace(round, configuration)
            proxy.close()
            // All of one round, and of this one if it was told so.
            let found = try await database.withSession { session throws in
                try session.numbers("SELECT x / 1000 FROM t ORDER BY x")
            }
            #expect(found.isEmpty || found.count == Int(Self.rows), "\(plan)")
            #expect(Set(found).count <= 1, "\(plan)")
            guard isCommitted else { continue }
            committed += 1
            #expect(found.count == Int(Self.rows) && found.first == Int64(round), "\(plan)")
        }
        return committed
    }

    @Test func copyThatIsCutIsThereOnceOrNotAtAll() async throws {
        // A connection that is lost before the commit is replaced, and the transaction runs again.
        let committed = try await run(seed: testSetting("HERALD_FUZZ_SEED", 4)) { random, round in
            let place = Int.random(in: 0..<330_000, using: &random)
            return round.isMultiple(of: 3) ? .cutAnswers(after: place / 200) : .cutRequests(after: place)
        }
        #expect(committed > 0)
    }

    @Test func copyWhoseAnswersAreChangedIsThereOnceOrNotAtAll() async throws {
        try await run(seed: testSetting("HERALD_FUZZ_SEED", 5)) { random, _ in
            .garble(at: .random(in: 0..<1500, using: &random), mask: .random(in: 1...255, using: &random))
        }
    }

    @Test func copyThatIsNotAnsweredIsGivenUpInTime() async throws {
        // Each waits for its time.
        try await run(rounds: max(1, Self.rounds / 10), seed: testSetting("HERALD_FUZZ_SEED", 6)) { random, _ in
            .silence(after: .random(in: 500..<1500, using: &random))
        }
    }
}
