import Foundation
import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// Connections that end at the wrong moment.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(3)))
struct LossTests {
    @Test(arguments: [true, false])
    func commitWithoutAnAnswerIsResolved(isForwarded: Bool) async throws {
        let spoiled = try await SpoiledDatabase { $0 == 0 ? .loseCommit(isForwarded: isForwarded) : .pass }
        defer { spoiled.proxy.close() }
        try await spoiled.database.withSession { try $0.execute("CREATE TABLE t (attempt bigint)") }
        try await spoiled.database.withSession(spoiled.configuration) { session throws in
            var attempts: Int64 = 0
            let isCommitted = try session.inTransaction(lock: testLock) {
                attempts += 1
                try session.post("INSERT INTO t VALUES ($1)", [attempts])
                return true
            }
            #expect(isCommitted)
            // Once: it ran again only if the first COMMIT did not arrive.
            #expect(attempts == (isForwarded ? 1 : 2))
            #expect(try session.numbers("SELECT attempt FROM t") == [attempts])
        }
        #expect(spoiled.proxy.connections == 2)
    }

    /// The server then says that it took place, though no standby has it.
    @Test func aCommitWhoseWaitForAStandbyWasEndedWaitsAgain() async throws {
        let server = try await PostgreSQLServer(settings: [:])
        let database = try await TestDatabase(on: server)
        try await database.withSession { try $0.execute("CREATE TABLE t (x bigint)") }
        func setStandbys(_ names: String) async throws {
            try await server.execute("ALTER SYSTEM SET synchronous_standby_names = '\(names)'", in: database.url)
            try await server.execute("SELECT pg_reload_conf()", in: database.url)
            // Done by the process that reads what commits are to wait for, after it did that.
            try await server.execute("CHECKPOINT", in: database.url)
        }
        func untilWaiting(_ query: String) async throws {
            let waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '\(query)'"
            while try await server.execute(waiting, in: database.url) != ["1"] { await Task.yield() }
        }
        // None is there.
        try await setStandbys("*")
        async let isCommitted = database.withSession { session throws in
            try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t VALUES (1)")
                return true
            }
        }
        try await untilWaiting("COMMIT%")
        try await server.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", in: database.url)
        try await untilWaiting("%emit%")
        try await setStandbys("")
        #expect(try await isCommitted)
        #expect(try await database.withSession { try $0.numbers("SELECT x FROM t") } == [1])
    }

    @Test func whatBecameOfACommitIsNotGuessedAfterAPromotion() {
        let trace = CommitTrace(transaction: 5, timeline: "00000001", process: 1)
        #expect(CommitOutcome(status: "committed", timeline: "00000001", trace: trace) == .committed)
        #expect(CommitOutcome(status: "aborted", timeline: "00000001", trace: trace) == .rolledBack)
        #expect(CommitOutcome(status: "in progress", timeline: "00000001", trace: trace) == .running)
        #expect(CommitOutcome(status: nil, timeline: "00000001", trace: trace) == nil)
        #expect(CommitOutcome(status: "committed", timeline: "00000002", trace: trace) == nil)
    }

    /// A server that crashed gives the number of a transaction again that had left nothing on its disk: that this one is
    /// committed says nothing of the first.
    @Test func theNumberOfALostTransactionIsNotTakenForIt() async throws {
        // Nothing but a COMMIT brings anything to the disk.
        let server = try await PostgreSQLServer(settings: ["wal_writer_delay": "10s", "autovacuum": "off"])
        let database = try await TestDatabase(on: server)
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (attempt bigint)")
            try session.execute("CREATE TABLE mark (number bigint)")
        }
        try await database.withSession { session throws in
            let mark = CommitMark { () throws(PostgreSQLError) in
                try session.statement("INSERT INTO mark VALUES (1)").post()
            } isThere: { () throws(PostgreSQLError) in
                let statement = try session.statement("SELECT number FROM mark")
                defer { statement.reset() }
                return try statement.next()
            }
            var attempts: Int64 = 0
            let isCommitted = try session.inTransaction(lock: testLock, mark: mark) {
                attempts += 1
                try session.post("INSERT INTO t VALUES ($1)", [attempts])
                guard attempts == 1 else { return true }
                let number = try session.numbers("SELECT pg_current_xact_id()::text::bigint")
                try waiting {
                    await server.stop(immediate: true)
                    try await server.start()
                    try await database.withSession { other throws in
                        _ = try other.inTransaction(lock: testLock) {
                            try other.post("INSERT INTO t VALUES (100)")
                            #expect(try other.numbers("SELECT pg_current_xact_id()::text::bigint") == number)
                            return true
                        }
                    }
                }
                return true
            }
            #expect(isCommitted)
            #expect(attempts == 2)
            #expect(try session.numbers("SELECT attempt FROM t ORDER BY attempt") == [2, 100])
        }
        await server.stop(immediate: true)
    }

    /// Blocks a thread of its own until `body` has ended.
    private func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let (end, result) = (DispatchSemaphore(value: 0), Shared<Result<Void, any Error>>(.success(())))
        Task {
            do { try await body() } catch { result.withLock { $0 = .failure(error) } }
            end.signal()
        }
        end.wait()
        try result.withLock { $0 }.get()
    }

    @Test func transactionRunsAgainWhenTheServerEndedItsConnection() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (attempt bigint)")
            let other = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            try other.connect()
            defer { other.close() }
            var attempts: Int64 = 0
            _ = try session.inTransaction(lock: testLock) {
                attempts += 1
                try session.post("INSERT INTO t VALUES ($1)", [attempts])
                if attempts == 1 {
                    let process = try session.numbers("SELECT pg_backend_pid()")
                    #expect(try other.numbers("SELECT pg_terminate_backend($1, 5000)::int", process) == [1])
                }
                _ = try session.numbers("SELECT 1")
                return true
            }
            #expect(try session.numbers("SELECT attempt FROM t") == [2])
        }
    }

    @Test func connectionThatEndedBetweenTwoUsesIsReplaced() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let other = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            try other.connect()
            defer { other.close() }
            let process = try session.numbers("SELECT pg_backend_pid()")
            #expect(try other.numbers("SELECT pg_terminate_backend($1, 5000)::int", process) == [1])
            try session.connect()
            #expect(try session.numbers("SELECT pg_backend_pid()") != process)
        }
    }

    @Test func serverThatCrashesAndComesBackIsUsedAgain() async throws {
        let server = try await PostgreSQLServer()
        let database = try await TestDatabase(on: server)
        try await database.withSession { try $0.execute("CREATE TABLE t (x bigint)") }
        let pool = PostgreSQLPool(database.configuration, readers: 2, logger: Logger(label: "test"))
        @Sendable func insert(_ number: Int64) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                pool.withWriter { session in
                    continuation.resume(
                        with: Result {
                            _ = try session.get().inTransaction(lock: testLock) {
                                try session.get().post("INSERT INTO t VALUES ($1)", [number])
                                return true
                            }
                        })
                }
            }
        }
        try await insert(1)
        await server.stop(immediate: true)
        await #expect(throws: PostgreSQLError.self) { try await insert(2) }
        try await server.start()
        var last: (any Error)?
        for _ in 0..<200 {
            do {
                try await insert(3)
                last = nil
                break
            } catch {
                // The pause after the attempt that failed: nothing tells when it is over.
                last = error
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        #expect(last == nil)
        let rows = try await database.withSession { try $0.numbers("SELECT x FROM t ORDER BY x") }
        #expect(rows == [1, 3])
        await onPool { pool.close() }
        await server.stop(immediate: true)
    }

    private func onPool(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread {
                body()
                continuation.resume()
            }.start()
        }
    }

    @Test func tooManyConnectionsIsAnErrorWithItsCodeAndReadersShareWhatThereIs() async throws {
        let server = try await PostgreSQLServer(settings: [
            "max_connections": "5", "superuser_reserved_connections": "0",
        ])
        let database = try await TestDatabase(on: server)
        // Four of five: psql of the test is gone.
        let others = try await onThread {
            try (0..<4).map { _ in
                let session = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
                try session.connect()
                return Held(session)
            }
        }
        let pool = PostgreSQLPool(database.configuration, readers: 3, logger: Logger(label: "test"))
        let sum = Shared<Int64>(0)
        await withTaskGroup { group in
            for number in 1...20 as ClosedRange<Int64> {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        pool.withReader { session in
                            let read = Result { try session.get().numbers("SELECT $1::bigint", [number]) }
                            if case .success(let numbers) = read { sum.withLock { $0 += numbers[0] } }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        // The first ones may have been refused before one reader had a connection.
        #expect(sum.withLock { $0 } > 100)
        let error = try await onThread {
            let session = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            return failure { try session.connect() }
        }
        #expect(error?.state == .tooManyConnections)
        #expect(error?.kind == .disconnected)
        await onPool { pool.close() }
        withExtendedLifetime(others) {}
        await server.stop(immediate: true)
    }

    /// Whether the session that `ask` gives answers a question.
    private func answers(_ ask: (@escaping SessionWork) -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            ask { session in
                let result = Result { try session.get().numbers("SELECT 7::bigint") }
                let numbers: [Int64]? = if case .success(let numbers) = result { numbers } else { nil }
                continuation.resume(returning: numbers == [7])
            }
        }
    }

    /// Readers that came first have all that the server gives: one of them makes room, and the others read on.
    @Test func theWriterGetsTheConnectionOfAReader() async throws {
        let server = try await PostgreSQLServer(settings: [
            "max_connections": "5", "superuser_reserved_connections": "0",
        ])
        let database = try await TestDatabase(on: server)
        let others = try await onThread {
            try (0..<2).map { _ in
                let session = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
                try session.connect()
                return Held(session)
            }
        }
        let pool = PostgreSQLPool(database.configuration, readers: 3, logger: Logger(label: "test"))
        // Each waits until all three have a connection.
        let (meeting, ready) = (DispatchGroup(), Shared(0))
        for _ in 0..<3 { meeting.enter() }
        for _ in 0..<3 {
            pool.withReader { session in
                if case .success = session { ready.withLock { $0 += 1 } }
                meeting.leave()
                meeting.wait()
            }
        }
        await onPool { meeting.wait() }
        #expect(ready.withLock { $0 } == 3)
        var attempts = 0
        while true {
            let isWritten = await answers { pool.withWriter($0) }
            if isWritten { break }
            attempts += 1
            let isRead = await answers { pool.withReader($0) }
            #expect(isRead)
            // The pause after the attempt that failed: nothing tells when it is over.
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(attempts > 0)
        await onPool { pool.close() }
        withExtendedLifetime(others) {}
        await server.stop(immediate: true)
    }

    @Test func serverThatTakesNoWritesIsNotUsed() async throws {
        let server = try await PostgreSQLServer(settings: ["default_transaction_read_only": "on"])
        let url = server.url(of: "postgres")
        let error = try await onThread {
            let session = PostgreSQLSession(
                try PostgreSQLConfiguration(url: url), logger: Logger(label: "test"))
            return failure { try session.connect() }
        }
        #expect(error?.kind == .disconnected)
        #expect(error?.message.contains("read-only") == true)
        let count = try await onThread {
            let any = try PostgreSQLConfiguration(url: url + "&target_session_attrs=any")
            let session = PostgreSQLSession(any, logger: Logger(label: "test"))
            try session.connect()
            defer { session.close() }
            return try session.numbers("SELECT 1")
        }
        #expect(count == [1])
        await server.stop(immediate: true)
    }

    @Test func secondServerOfTheURLIsUsedWhenTheFirstIsNotThere() async throws {
        let database = try await TestDatabase()
        let name = PostgreSQLServer.name(of: database.url)
        let (server, nowhere) = (database.server, try TestDirectory())
        let several = try PostgreSQLConfiguration(
            url:
                "postgresql://postgres@/\(name)?host=\(nowhere.path),\(server.socketDirectory)&port=5432,\(server.port)"
        )
        let numbers = try await database.withSession(several) { try $0.numbers("SELECT 1") }
        #expect(numbers == [1])
    }

    @Test(arguments: [true, false])
    func passwordIsAskedForOverTCP(isRight: Bool) async throws {
        let server = try await PostgreSQLServer.shared()
        let configuration = try PostgreSQLConfiguration(
            url: "postgresql://postgres@127.0.0.1:\(server.port)/postgres?sslmode=disable",
            password: isRight ? PostgreSQLServer.password : "wrong")
        let error = try await onThread {
            let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
            defer { session.close() }
            return failure { try session.connect() }
        }
        #expect(isRight ? error == nil : error?.state == "28P01")
    }

    @Test func certificateIsAskedForUnlessTheURLSaysOtherwise() async throws {
        let server = try await PostgreSQLServer.shared()
        let configuration = try PostgreSQLConfiguration(
            url: "postgresql://postgres@127.0.0.1:\(server.port)/postgres", password: PostgreSQLServer.password)
        let error = try await onThread {
            failure { try PostgreSQLSession(configuration, logger: Logger(label: "test")).connect() }
        }
        #expect(error?.message.contains("SSL") == true)
    }

    @Test func silentServerIsGivenUpInTime() async throws {
        var spoiled = try await SpoiledDatabase { $0 == 0 ? .silence(after: 0) : .pass }
        defer { spoiled.proxy.close() }
        spoiled.configuration.connectTimeout = .milliseconds(200)
        let configuration = spoiled.configuration
        let error = try await onThread {
            failure { try PostgreSQLSession(configuration, logger: Logger(label: "test")).connect() }
        }
        #expect(error?.kind == .timedOut)
    }

    @Test func silenceAfterAQuestionEndsInTime() async throws {
        let database = try await TestDatabase()
        var configuration = database.configuration
        configuration.answerTimeout = .milliseconds(300)
        let error = try await database.withSession(configuration) { session throws in
            failure { try session.execute("SELECT pg_sleep(30)") }
        }
        #expect(error?.kind == .timedOut)
    }

    private final class Held: @unchecked Sendable {
        // Kept only, and used by no one.
        let session: PostgreSQLSession
        init(_ session: PostgreSQLSession) { self.session = session }
    }
}
