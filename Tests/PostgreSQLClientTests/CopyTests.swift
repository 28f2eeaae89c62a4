import Logging
import TestSupport
import Testing

@testable import PostgreSQLClient

/// Rows that come in by COPY.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(2)))
struct CopyTests {
    static let insertion = "INSERT INTO t (x, pad) VALUES ($1, $2)"

    /// A database with a table of numbers and bytes.
    private static func makeTable() async throws -> TestDatabase {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (x bigint CONSTRAINT positive CHECK (x > 0), pad bytea)")
        }
        return database
    }

    @Test func rowsReadAsTheyWereBound() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (a bigint, b text, c bytea, d smallint, e boolean, f numeric)")
            let insertion = "INSERT INTO t (a, b, c, d, e, f)\nVALUES ($1, $2, $3, $4, $5, $6)"
            let bytes = (0...255).map { UInt8($0) }
            let count = try session.copy(insertion) { copy throws in
                for (place, number) in ValueTests.numbers.enumerated() {
                    copy.bind(number)
                    switch place % 3 {
                    case 0: copy.bindNull()
                    case 1: copy.bind("Grüße, \u{1F44B} \\.\t\n\"NULL\"")
                    default: copy.bind(utf8: Array("ß".utf8))
                    }
                    copy.bind(blob: place % 2 == 0 ? bytes : [])
                    copy.bind(Int64(place))
                    copy.bind(Int64(place % 2))
                    copy.bind(number)
                    try copy.endRow()
                }
            }
            #expect(count == ValueTests.numbers.count)
            let rows = try session.statement("SELECT a, b, c, d, e, f FROM t ORDER BY d")
            for (place, number) in ValueTests.numbers.enumerated() {
                #expect(try rows.next())
                #expect(rows.number(0) == number && rows.number(5) == number)
                #expect(rows.isNull(1) == (place % 3 == 0))
                #expect(rows.text(1) == ["", "Grüße, \u{1F44B} \\.\t\n\"NULL\"", "ß"][place % 3])
                #expect(rows.bytes(2) == (place % 2 == 0 ? bytes : []) && !rows.isNull(2))
                #expect(rows.number(3) == Int64(place) && rows.number(4) == Int64(place % 2))
            }
            #expect(try !rows.next())
        }
    }

    @Test func noRowsAreNoCopy() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            #expect(try session.copy(Self.insertion) { _ in } == 0)
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    /// What went before is done before, and answers that came with it are still to be read.
    @Test func copyStandsBetweenStatementsOfThePipeline() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let isCommitted = try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t (x) VALUES (1)")
                let before = try session.statement("SELECT count(*) FROM t")
                try before.askAhead()
                let count = try session.copyRows(2...5000)
                #expect(count == 4999)
                try session.post("INSERT INTO t (x) VALUES (5001)")
                #expect(try session.numbers("SELECT count(*), sum(x) FROM t") == [5001])
                #expect(try before.next() && before.number(0) == 1)
                before.reset()
                return true
            }
            #expect(isCommitted)
            #expect(try session.numbers("SELECT sum(x) FROM t") == [5001 * 5002 / 2])
        }
    }

    @Test func failureOfWhatWasPostedBeforeShowsAtTheCopy() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let error = failure {
                try session.inTransaction(lock: testLock) {
                    try session.post("INSERT INTO t (x) VALUES (0)")
                    try session.copyRows(1...10)
                    return true
                }
            }
            #expect(error?.constraint == "positive" && error?.row == nil)
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    @Test(arguments: [1, 3000])
    func rowThatTheServerRefusesIsToldByItsNumberAndTheSessionGoesOn(place: Int) async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            _ = try session.inTransaction(lock: testLock) {
                try session.post("INSERT INTO t (x) VALUES (7)")
                let error = failure {
                    try session.inSavepoint {
                        // What follows the row is dropped: 5 MB, far more than sockets hold.
                        try session.copy(Self.insertion) { copy throws in
                            for row in 1...5000 {
                                copy.bind(row == place ? -1 : Int64(row))
                                copy.bind(blob: Array(repeating: 1, count: 1000))
                                try copy.endRow()
                            }
                        }
                    }
                }
                #expect(error?.state == "23514" && error?.constraint == "positive" && error?.table == "t")
                #expect(error?.row == place)
                #expect(!session.isAborted)
                try session.copyRows(8...9)
                return true
            }
            #expect(try session.numbers("SELECT x FROM t ORDER BY x") == [7, 8, 9])
        }
    }

    @Test func valueThatTheServerRefusesIsNotTold() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (x text, y text UNIQUE)")
            for texts in [["good", "secret\0"], ["secret", "secret"]] {
                let error = failure {
                    try session.copy("INSERT INTO t (x, y) VALUES ($1, $2)") { copy throws in
                        for text in texts {
                            copy.bind("x")
                            copy.bind(text)
                            try copy.endRow()
                        }
                    }
                }
                #expect(error?.row == 2)
                #expect(error.map { !"\($0)".contains("secret") } == true)
            }
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    @Test func tableThatIsNotThereIsAnErrorAndTheSessionGoesOn() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let insertion = try session.statement(Self.insertion)
            #expect(insertion.parameterTypes.count == 2)
            let other = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            try other.connect()
            defer { other.close() }
            try other.execute("DROP TABLE t")
            #expect(failure { try session.copyRows(1...5000) }?.state == .undefinedTable)
            #expect(try session.numbers("SELECT 1") == [1])
        }
    }

    @Test func whatDoesNotFitAColumnIsNamedWithItsRow() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let misfit = failure {
                try session.copy(Self.insertion) { copy throws in
                    copy.bind(1)
                    copy.bindNull()
                    try copy.endRow()
                    copy.bind(2)
                    copy.bind("secret")
                    try copy.endRow()
                }
            }
            #expect(misfit?.kind == .misuse && misfit?.row == 2)
            #expect(misfit?.message == "In row 2 of a COPY column 2 is bytea, and a text was bound to it.")
            let missing = failure {
                try session.copy(Self.insertion) { copy throws in
                    copy.bind(1)
                    try copy.endRow()
                }
            }
            #expect(missing?.message == "In row 1 of a COPY there are 2 columns, and 1 were bound.")
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    /// Before anything went out, and in the middle.
    @Test(arguments: [10, 5000])
    func errorOfTheCallerTakesTheRowsBack(count: Int64) async throws {
        let database = try await Self.makeTable()
        struct Stop: Error {}
        try await database.withSession { session throws in
            #expect(throws: Stop.self) {
                try session.copy(Self.insertion) { copy throws in
                    for number in 1...count {
                        copy.bind(number)
                        copy.bind(blob: Array(repeating: 1, count: 100))
                        try copy.endRow()
                    }
                    throw Stop()
                }
            }
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    @Test func nothingElseIsSentInTheMiddleOfACopy() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let error = failure {
                try session.copy(Self.insertion) { copy throws in
                    for number in 1...5000 as ClosedRange<Int64> {
                        copy.bind(number)
                        copy.bind(blob: Array(repeating: 1, count: 100))
                        try copy.endRow()
                    }
                    try session.execute("SELECT 1")
                }
            }
            #expect(error?.kind == .misuse)
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    @Test func copyThatAnOperatorCancelsIsAnErrorAndTheSessionGoesOn() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let other = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            try other.connect()
            defer { other.close() }
            let process = try session.numbers("SELECT pg_backend_pid()")
            let error = failure {
                try session.inTransaction(lock: testLock) {
                    try session.copyRows(1...5000) { number throws in
                        guard number == 2500 else { return }
                        #expect(try other.numbers("SELECT pg_cancel_backend($1)", process) == [1])
                    }
                    return true
                }
            }
            #expect(error?.kind == .refused && error?.state == .queryCancelled)
            #expect(try session.numbers("SELECT count(*) FROM t") == [0])
        }
    }

    @Test func transactionRunsAgainWhenTheServerEndsTheConnectionInTheMiddleOfACopy() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { session throws in
            let other = PostgreSQLSession(database.configuration, logger: Logger(label: "test"))
            try other.connect()
            defer { other.close() }
            var attempts = 0
            let isCommitted = try session.inTransaction(lock: testLock) {
                attempts += 1
                let process = try session.numbers("SELECT pg_backend_pid()")
                try session.copyRows(1...5000) { number throws in
                    guard attempts == 1, number == 2500 else { return }
                    #expect(try other.numbers("SELECT pg_terminate_backend($1, 5000)::int", process) == [1])
                }
                return true
            }
            #expect(isCommitted && attempts == 2)
            #expect(try session.numbers("SELECT count(*) FROM t") == [5000])
        }
    }

    /// A server that takes nothing holds the caller up, and not for longer than an answer may take.
    @Test func serverThatTakesNoRowsHoldsThemBackAndIsGivenUpInTime() async throws {
        let database = try await Self.makeTable()
        try await database.withSession { other throws in
            try other.run(
                script: """
                    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_advisory_xact_lock(99); RETURN new; END $$;
                    CREATE TRIGGER waiting BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION wait();
                    """, timeout: .seconds(10))
            try other.execute("SELECT pg_advisory_lock(99)")
            var configuration = database.configuration
            configuration.answerTimeout = .milliseconds(300)
            let session = PostgreSQLSession(configuration, logger: Logger(label: "test"))
            try session.connect()
            var bound = 0
            let error = failure {
                try session.copy(Self.insertion) { copy throws in
                    for number in 1...400 as ClosedRange<Int64> {
                        bound += 1
                        copy.bind(number)
                        copy.bind(blob: Array(repeating: 1, count: 100_000))
                        try copy.endRow()
                    }
                }
            }
            #expect(error?.kind == .timedOut)
            #expect(bound < 100)
            session.close()
            try other.execute("SELECT pg_advisory_unlock(99)")
            let count = try other.numbers("SELECT count(*) FROM t")
            #expect(count == [0])
        }
    }
}

extension PostgreSQLSession {
    /// Copies rows with these numbers and a kilobyte each, calling `body` before each.
    @discardableResult
    func copyRows(_ numbers: ClosedRange<Int64>, _ body: (Int64) throws -> Void = { _ in }) throws -> Int {
        try copy(CopyTests.insertion) { copy throws in
            for number in numbers {
                try body(number)
                copy.bind(number)
                copy.bind(blob: Array(repeating: UInt8(truncatingIfNeeded: number), count: 1000))
                try copy.endRow()
            }
        }
    }
}
