import TestSupport
import Testing

@testable import PostgreSQLClient

/// Statements that are sent without waiting for each other.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(2)))
struct PipelineTests {
    @Test func postedStatementsRunInTheirOrderBeforeTheNextAnswer() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, x bigint)")
            for number in 0..<300 { try session.post("INSERT INTO t (x) VALUES ($1)", [Int64(number)]) }
            #expect(try session.numbers("SELECT x FROM t ORDER BY id") == (0..<300).map { Int64($0) })
        }
    }

    @Test func firstFailureShowsWithTheNextAnswerAndTheRestIsLeftOut() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (x bigint CONSTRAINT only_once UNIQUE)")
            for number in [1, 2, 1, 3] as [Int64] { try session.post("INSERT INTO t VALUES ($1)", [number]) }
            let error = failure { try session.numbers("SELECT x FROM t") }
            #expect(error?.state == .uniqueViolation)
            #expect(error?.constraint == "only_once" && error?.table == "t")
            // What stands between two answers is one transaction.
            #expect(try session.numbers("SELECT x FROM t").isEmpty)
        }
    }

    @Test func questionsAskedAheadHaveTheirRowsLater() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (x bigint)")
            let first = try session.statement("SELECT x + $1 FROM t ORDER BY x")
            first.bind(10)
            let second = try session.statement("SELECT count(*) FROM t")
            for number in 0..<3 as Range<Int64> { try session.post("INSERT INTO t VALUES ($1)", [number]) }
            try first.askAhead()
            try session.post("INSERT INTO t VALUES (7)")
            try second.askAhead()
            // Its answer comes after theirs, and is read first.
            #expect(try session.numbers("SELECT max(x) FROM t") == [7])
            #expect(try second.next() && second.number(0) == 4)
            var numbers: [Int64] = []
            while try first.next() { numbers.append(first.number(0)) }
            #expect(numbers == [10, 11, 12])
            // Ready for the next time.
            first.bind(100)
            #expect(try first.next() && first.number(0) == 100)
        }
    }

    @Test func failureOfAQuestionAskedAheadShowsOnceAndWhatFollowsWasLeftOut() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let wrong = try session.statement("SELECT 1 / $1::bigint")
            let right = try session.statement("SELECT 2 + $1::bigint")
            wrong.bind(0)
            try wrong.askAhead()
            right.bind(0)
            try right.askAhead()
            #expect(failure { try right.next() }?.state == "22012")
            #expect(failure { try wrong.next() }?.state == .transactionAborted)
            right.bind(1)
            #expect(try right.next() && right.number(0) == 3)
        }
    }

    @Test func questionThatNoOneReadsDisturbsNoOther() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            for number in 0..<3 as Range<Int64> {
                let isCommitted = try session.inTransaction(lock: testLock) {
                    try session.statement("SELECT 5").askAhead()
                    return try session.numbers("SELECT $1::bigint", [number]) == [number]
                }
                #expect(isCommitted)
                #expect(try session.numbers("SELECT 5") == [5])
            }
        }
    }

    @Test func errorTellsNoValue() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (x text UNIQUE CHECK (x <> 'forbidden'))")
            for text in ["secret", "secret", "forbidden"] {
                let statement = try session.statement("INSERT INTO t VALUES ($1)")
                statement.bind(text)
                guard let error = failure({ try statement.run() }) else { continue }
                #expect(!"\(error)".contains("secret") && !"\(error)".contains("forbidden"))
            }
            let cast = try session.statement("SELECT $1::text::bigint")
            cast.bind("secret")
            let error = failure { try cast.next() }
            #expect(error?.state == "22P02")
            #expect(error?.description == "The server refused a value. (SQLSTATE 22P02)")
        }
    }

    @Test func wrongStatementIsAnErrorAndTheSessionGoesOn() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            #expect(failure { try session.statement("SELEKT 1") }?.state == "42601")
            #expect(failure { try session.numbers("SELECT x FROM nowhere") }?.state == .undefinedTable)
            #expect(try session.numbers("SELECT 1") == [1])
        }
    }

    /// Either side would wait for the other one to read.
    @Test func moreIsSentAndAnsweredThanSocketsHold() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let statement = try session.statement("SELECT $1::text || x FROM generate_series(1, 20) x")
            let text = String(repeating: "x", count: 20_000)
            for _ in 0..<200 {
                statement.bind(text)
                try statement.post()
            }
            #expect(try session.numbers("SELECT 1") == [1])
        }
    }

    @Test func statementIsPreparedOnceForATextAndUsedAgain() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            for number in 0..<5 as Range<Int64> {
                #expect(try session.numbers("SELECT $1::bigint", [number]) == [number])
            }
            let first = try session.statement("SELECT $1::bigint")
            #expect(try session.statement("SELECT $1::bigint") === first)
            #expect(
                try session.numbers("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%bigint'") == [1]
            )
        }
    }

    @Test func scriptRunsSeveralStatementsAndStopsAtAFailure() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.run(script: "CREATE TABLE a (x bigint); INSERT INTO a VALUES (1), (2);", timeout: .seconds(10))
            let error = failure {
                try session.run(
                    script: "INSERT INTO a VALUES (3); SELECT 1/0; INSERT INTO a VALUES (4)", timeout: .seconds(10))
            }
            #expect(error?.state == "22012")
            #expect(try session.numbers("SELECT x FROM a ORDER BY x") == [1, 2])
        }
    }
}
