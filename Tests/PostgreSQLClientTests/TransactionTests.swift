import Foundation
import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// Transactions, snapshots and savepoints.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(2)))
struct TransactionTests {
    private func makeTable() async throws -> TestDatabase {
        let database = try await TestDatabase()
        try await database.withSession { try $0.execute("CREATE TABLE t (x bigint UNIQUE)") }
        return database
    }

    @Test func whatIsCommittedStaysAndWhatIsNotGoes() async throws {
        let database = try await makeTable()
        struct Stop: Error {}
        try await database.withSession { session throws in
            let isCommitted = try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t VALUES (1)")
                return true
            }
            #expect(isCommitted)
            let isTakenBack = try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t VALUES (2)")
                return false
            }
            #expect(!isTakenBack)
            #expect(throws: Stop.self) {
                _ = try session.inTransaction(lock: testLock) {
                    try session.post("INSERT INTO t VALUES (3)")
                    throw Stop()
                }
            }
            #expect(try session.numbers("SELECT x FROM t") == [1])
        }
    }

    @Test func failureOfWhatWasPostedShowsAtTheCommit() async throws {
        let database = try await makeTable()
        try await database.withSession { session throws in
            let error = failure {
                try session.inTransaction(lock: testLock) {
                    try session.post("INSERT INTO t VALUES (1)")
                    try session.post("INSERT INTO t VALUES (1)")
                    return true
                }
            }
            #expect(error?.state == .uniqueViolation)
            let rows = try session.numbers("SELECT x FROM t")
            #expect(rows.isEmpty)
        }
    }

    @Test func savepointTakesBackItsOwnChangesOnly() async throws {
        let database = try await makeTable()
        try await database.withSession { session throws in
            _ = try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t VALUES (1)")
                let error = failure {
                    try session.inSavepoint {
                        try session.post("INSERT INTO t VALUES (2)")
                        try session.post("INSERT INTO t VALUES (1)")
                    }
                }
                #expect(error?.state == .uniqueViolation)
                #expect(!session.isAborted)
                try session.inSavepoint {
                    try session.post("INSERT INTO t VALUES (3)")
                    let inner = failure { try session.inSavepoint { try session.execute("INSERT INTO t VALUES (3)") } }
                    #expect(inner?.state == .uniqueViolation)
                }
                return true
            }
            #expect(try session.numbers("SELECT x FROM t ORDER BY x") == [1, 3])
        }
    }

    @Test func failureThatAStepCaughtIsSeen() async throws {
        let database = try await makeTable()
        try await database.withSession { session throws in
            _ = try session.inTransaction(lock: testLock) {
                #expect(!session.isAborted)
                #expect(failure { try session.execute("SELECT nothing") } != nil)
                #expect(session.isAborted)
                return false
            }
            #expect(try session.numbers("SELECT 1") == [1])
        }
    }

    @Test func snapshotSeesWhatWasCommittedAtItsBeginningAndChangesNothing() async throws {
        let database = try await makeTable()
        try await database.withSession { session throws in
            let other = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            try other.connect()
            defer { other.close() }
            try other.execute("INSERT INTO t VALUES (1)")
            try session.reading {
                #expect(try session.numbers("SELECT count(*) FROM t") == [1])
                try other.execute("INSERT INTO t VALUES (2)")
                #expect(try session.numbers("SELECT count(*) FROM t") == [1])
                #expect(failure { try session.execute("INSERT INTO t VALUES (3)") }?.state == .readOnlyTransaction)
            }
            try session.reading {
                let count = try session.numbers("SELECT count(*) FROM t")
                #expect(count == [2])
            }
        }
    }

    /// Each one reads the highest number and adds the next: two at once would add the same.
    @Test func transactionsWithOneLockGoOneAtATime() async throws {
        let database = try await makeTable()
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    try await database.withSession { session throws in
                        for _ in 0..<25 {
                            _ = try session.inTransaction(lock: testLock) {
                                let last = try session.numbers("SELECT coalesce(max(x), 0) FROM t")
                                try session.post("INSERT INTO t VALUES ($1)", [last[0] + 1])
                                return true
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let count = try await database.withSession { try $0.numbers("SELECT max(x) FROM t") }
        #expect(count == [100])
    }

    @Test func transactionRunsAgainWhenAnotherHeldTheLockForTooLong() async throws {
        let database = try await makeTable()
        let impatient = try PostgreSQLConfiguration(url: database.url + "&options=-c%20lock_timeout%3D50ms")
        let holder = PostgreSQLPool(database.configuration, readers: 1, logger: Logger(label: "test"))
        defer { holder.close() }
        let (isHeld, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        holder.withWriter { session in
            _ = Result {
                try session.get().inTransaction(lock: testLock) {
                    _ = try session.get().numbers("SELECT 1")
                    isHeld.signal()
                    release.wait()
                    return false
                }
            }
        }
        let attempts = Shared(0)
        try await database.withSession(impatient) { session throws in
            isHeld.wait()
            _ = try session.inTransaction(lock: testLock) {
                let attempt = attempts.withLock { count in
                    count += 1
                    return count
                }
                if attempt == 2 { release.signal() }
                try session.post("INSERT INTO t VALUES (1)")
                _ = try session.numbers("SELECT x FROM t")
                return true
            }
            #expect(try session.numbers("SELECT x FROM t") == [1])
        }
        #expect(attempts.withLock { $0 } >= 2)
    }

    /// Between two statements the server would wait 30 s for it, and in the middle of what it sends at once without an end.
    @Test(arguments: [0, 200])
    func whoHoldsTheLockAndIsSilentIsCutOffByTheNext(posts: Int) async throws {
        let database = try await makeTable()
        // Longer than a silence may last.
        let patient = try PostgreSQLConfiguration(url: database.url + "&options=-c%20lock_timeout%3D3500ms")
        let holder = PostgreSQLPool(database.configuration, readers: 1, logger: Logger(label: "test"))
        defer { holder.close() }
        let (isHeld, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let attempts = Shared(0)
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        holder.withWriter { session in
            let result = Result {
                try session.get().inTransaction(lock: testLock) {
                    _ = try session.get().numbers("SELECT 1")
                    for number in 0..<posts { try session.get().post("INSERT INTO t VALUES ($1)", [Int64(number)]) }
                    let isFirst = attempts.withLock { count in
                        count += 1
                        return count == 1
                    }
                    if isFirst {
                        isHeld.signal()
                        release.wait()
                    }
                    return true
                }
            }
            end.yield((try? result.get()) ?? false)
            end.finish()
        }
        try await database.withSession(patient) { session throws in
            isHeld.wait()
            _ = try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t VALUES (-1)")
                return true
            }
            #expect(try session.numbers("SELECT x FROM t") == [-1])
        }
        release.signal()
        // It finds its connection gone, and does it again.
        for await isCommitted in ends { #expect(isCommitted) }
        #expect(attempts.withLock { $0 } == 2)
        #expect(try await database.withSession { try $0.numbers("SELECT count(*) FROM t") } == [Int64(posts) + 1])
    }

    @Test func errorThatLastsIsToldAfterAFewAttempts() async throws {
        let database = try await makeTable()
        try await database.withSession { session throws in
            var attempts = 0
            let error = failure {
                try session.inTransaction(lock: testLock) {
                    attempts += 1
                    try session.execute("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$")
                    return true
                }
            }
            #expect(error?.state == .serializationFailure)
            #expect(attempts == 5)
        }
    }
}

extension PostgreSQLSession {
    /// Runs `body` in a snapshot.
    fileprivate func reading(_ body: () throws -> Void) throws {
        var result: Result<Void, any Error> = .success(())
        try inSnapshot { result = Result { try body() } }
        try result.get()
    }
}
