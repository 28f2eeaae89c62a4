import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// Streams that are cut or changed at any byte.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(5)), .serialized)
struct SpoiledStreamTests {
    /// What a session asks, with the right answers.
    private static func work(_ session: PostgreSQLSession) throws -> [Int64] {
        var numbers: [Int64] = []
        _ = try session.inTransaction(lock: testLock) {
            numbers = []
            for number in 0..<5 as Range<Int64> { try session.post("SELECT $1::bigint", [number]) }
            numbers += try session.numbers("SELECT x::bigint FROM generate_series(1, 50) x")
            let text = try session.statement("SELECT repeat('x', 1000), $1::bytea, 7::numeric")
            text.bind(blob: [1, 2, 3])
            while try text.next() {
                numbers += [Int64(text.text(0).utf8.count), Int64(text.bytes(1).count), text.number(2)]
            }
            return true
        }
        return numbers
    }

    private static let right: [Int64] = (1...50).map { $0 } + [1000, 3, 7]

    private func attempt(_ plan: WireProxy.Plan, on database: TestDatabase, isSeen: Bool) async throws {
        let proxy = try WireProxy(to: database.server) { $0 == 0 ? plan : .pass }
        defer { proxy.close() }
        let url = database.server.url(database.url, at: proxy.host, port: proxy.port)
        try await attempt(plan, try PostgreSQLConfiguration(url: url), isSeen: isSeen)
    }

    /// - Parameter isSeen: whether the client can see that the stream was spoiled: no wrong answer is taken.
    private func attempt(
        _ plan: WireProxy.Plan, _ configuration: PostgreSQLConfiguration, isSeen: Bool
    ) async throws {
        var configuration = configuration
        configuration.connectTimeout = .seconds(2)
        // One that is not given in time is an error as others.
        configuration.answerTimeout = .milliseconds(500)
        let hurried = configuration
        let numbers: [Int64]? = try await onThread {
            let session = PostgreSQLSession(hurried, logger: Logger(label: "test"))
            defer { session.close() }
            do {
                return try Self.work(session)
            } catch is PostgreSQLError {
                // An error is an answer, too.
                return nil
            }
        }
        if isSeen, let numbers { #expect(numbers == Self.right, "\(plan)") }
    }

    private static let rounds = testSetting("HERALD_FUZZ_ROUNDS", 40)

    @Test func streamThatIsCutGivesAnErrorOrTheRightAnswer() async throws {
        let database = try await TestDatabase()
        var random = SeededRandom(seed: testSetting("HERALD_FUZZ_SEED", 1))
        for round in 0..<Self.rounds {
            let place = Int.random(in: 0..<6000, using: &random)
            try await attempt(
                round.isMultiple(of: 2) ? .cutAnswers(after: place) : .cutRequests(after: place / 4), on: database,
                isSeen: true)
        }
    }

    @Test func streamThatIsChangedUnderTLSGivesAnErrorOrTheRightAnswer() async throws {
        let server = try await PostgreSQLServer(hasTLS: true)
        var random = SeededRandom(seed: testSetting("HERALD_FUZZ_SEED", 3))
        for round in 0..<Self.rounds {
            let mask = UInt8.random(in: 1...255, using: &random)
            // The first one is whole: TLS works.
            let plan: WireProxy.Plan =
                round == 0 ? .pass : .garble(at: .random(in: 0..<8000, using: &random), mask: mask)
            let proxy = try WireProxy(to: server, hasTCP: true) { $0 == 0 ? plan : .pass }
            let configuration = try PostgreSQLConfiguration(
                url: "postgresql://postgres@127.0.0.1:\(proxy.port)/postgres?sslrootcert=\(server.certificate)",
                password: PostgreSQLServer.password)
            if round == 0 {
                let isEncrypted = try await onThread {
                    let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
                    defer { session.close() }
                    try session.connect()
                    return try session.numbers("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                }
                #expect(isEncrypted == [1])
            } else {
                try await attempt(plan, configuration, isSeen: true)
            }
            proxy.close()
        }
        await server.stop(immediate: true)
    }

    /// A byte of a value that is changed on its way can't be told from the value: only TLS sees that.
    @Test func streamThatIsChangedEndsInTime() async throws {
        let database = try await TestDatabase()
        var random = SeededRandom(seed: testSetting("HERALD_FUZZ_SEED", 2))
        for _ in 0..<Self.rounds {
            let mask = UInt8.random(in: 1...255, using: &random)
            try await attempt(
                .garble(at: .random(in: 0..<6000, using: &random), mask: mask), on: database, isSeen: false)
        }
    }
}
