import TestSupport
import Testing

@testable import PostgreSQLClient

/// Values of each type on their way to the server and back.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(2)))
struct ValueTests {
    static let numbers: [Int64] = [
        0, 1, -1, 9999, 10_000, -10_000, 32_767, -32_768, 2_147_483_647, -2_147_483_648, 123_456_789_012_345,
        100_000_000_000_000_000, .max, .min,
    ]

    @Test func numbersReadAsTheyWereBound() async throws {
        let database = try await TestDatabase()
        let read = try await database.withSession { session throws in
            try Self.numbers.map { try session.numbers("SELECT $1::bigint", [$0]) }
        }
        #expect(read == Self.numbers.map { [$0] })
    }

    @Test func wholeNumericsReadAsTheyWereBound() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            for number in Self.numbers {
                #expect(try session.numbers("SELECT $1::numeric", [number]) == [number])
                // The server's own digits, not what we sent.
                #expect(
                    try session.numbers("SELECT sum(x) FROM (VALUES ($1::bigint), (0)) v (x)", [number]) == [number])
                #expect(try session.numbers("SELECT ($1::bigint)::numeric(40, 3)", [number]) == [number])
            }
        }
    }

    @Test(arguments: ["9223372036854775808", "-9223372036854775809", "1.5", "0.0001", "'NaN'", "'Infinity'", "1e30"])
    func numericThatIsNoWholeNumberOf64BitsIsAnError(text: String) async throws {
        let database = try await TestDatabase()
        let error = try await database.withSession { session in
            failure { try session.numbers("SELECT \(text)::numeric") }
        }
        #expect(error?.kind == .misuse)
        #expect(error?.message == "Column 1 of a statement is no whole number of 64 bits.")
    }

    @Test func rowsAreInsertedTogetherAsTheyWereBound() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (a bigint, b text, c bytea, d smallint)")
            let statement = try session.arrayStatement("INSERT INTO t (a, b, c, d) VALUES ($1, $2, $3, $4)")
            let numbers: [ArrayElement] = Self.numbers.map { .number($0) } + [.null]
            let texts: [ArrayElement] = numbers.indices.map { place in
                switch place % 4 {
                case 0: .null
                case 1: .text("Grüße, \u{1F44B} {\"NULL\",}")
                case 2: .utf8(Array("ß".utf8))
                default: .text("")
                }
            }
            let bytes: [ArrayElement] = numbers.indices.map { $0 % 2 == 0 ? .blob((0...255).map { UInt8($0) }) : .null }
            let small: [ArrayElement] = numbers.indices.map { .number(Int64($0)) }
            for column in [numbers, texts, bytes, small] { statement.bind(elements: column) }
            try statement.post()
            let rows = try session.statement("SELECT a, b, c, d FROM t ORDER BY d")
            for place in numbers.indices {
                #expect(try rows.next())
                #expect(rows.isNull(0) == (place == Self.numbers.count))
                if place < Self.numbers.count { #expect(rows.number(0) == Self.numbers[place]) }
                #expect(rows.isNull(1) == (place % 4 == 0))
                #expect(rows.text(1) == ["", "Grüße, \u{1F44B} {\"NULL\",}", "ß", ""][place % 4])
                #expect(rows.bytes(2) == (place % 2 == 0 ? (0...255).map { UInt8($0) } : []))
                #expect(rows.isNull(2) == (place % 2 == 1) && rows.number(3) == Int64(place))
            }
            #expect(try !rows.next())
        }
    }

    @Test func rowsThatAreThereAreCountedTogether() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (a text PRIMARY KEY, b bigint)")
            let insertion = """
                INSERT INTO t (a, b) VALUES ($1, $2)
                ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b
                """
            for _ in 0..<2 {
                let statement = try session.arrayStatement(insertion)
                statement.bind(elements: [ArrayElement.text("one"), .text("two")])
                statement.bind(elements: [ArrayElement.number(1), .number(2)])
                try statement.post()
            }
            #expect(try session.numbers("SELECT b FROM t ORDER BY b") == [2, 4])
            let error = failure { try session.copy(insertion) { _ in } }
            #expect(error?.kind == .misuse)
            #expect(error?.message.hasPrefix("A COPY can't do ON CONFLICT (a)") == true)
        }
    }

    @Test(arguments: [
        "UPDATE t SET a = $1", "INSERT INTO t (a) VALUES ($1) RETURNING a", "INSERT INTO t VALUES (1)",
        "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = $1",
    ])
    func otherStatementsAreNoInsertionOfRows(text: String) async throws {
        let database = try await TestDatabase()
        let error = try await database.withSession { session throws in
            try session.execute("CREATE TABLE t (a bigint)")
            return failure { try session.arrayStatement(text) }
        }
        #expect(error?.kind == .misuse)
    }

    @Test func smallerNumbersAndTruthValuesReadAsNumbers() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let statement = try session.statement(
                "SELECT $1::smallint, $2::integer, $3::boolean, $4::boolean, 1 < 2, $5::oid")
            for number in [-5, 70_000, 1, 0, 4_000_000_000] as [Int64] { statement.bind(number) }
            #expect(try statement.next())
            #expect((0..<6).map { statement.number($0) } == [-5, 70_000, 1, 0, 1, 4_000_000_000])
            #expect(try !statement.next())
        }
    }

    @Test(arguments: ["smallint", "integer", "boolean"])
    func numberBeyondTheTypeOfAParameterIsAnError(type: String) async throws {
        let database = try await TestDatabase()
        let error = try await database.withSession { session throws in
            failure { try session.numbers("SELECT $1::\(type)", [1 << 40]) }
        }
        #expect(error?.kind == .misuse)
        #expect(error?.message.contains("parameter 1 is \(type)") == true)
    }

    @Test func textsAndBytesReadAsTheyWereBound() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let statement = try session.statement("SELECT $1::text, $2::text, $3::bytea, $4::bytea, $5::text")
            let bytes = (0...255).map { UInt8($0) }
            statement.bind("Grüße, \u{1F44B} 'x' \"y\" \\")
            statement.bind(utf8: Array("ß".utf8))
            statement.bind(blob: bytes)
            statement.bind(blob: [])
            statement.bind("")
            #expect(try statement.next())
            #expect(statement.text(0) == "Grüße, \u{1F44B} 'x' \"y\" \\")
            #expect(statement.text(1) == "ß" && statement.bytes(1) == Array("ß".utf8))
            #expect(statement.bytes(2) == bytes && statement.bytes(3).isEmpty && !statement.isNull(3))
            #expect(statement.text(4).isEmpty && !statement.isNull(4))
            statement.reset()
        }
    }

    @Test func nullReadsAsNull() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let statement = try session.statement("SELECT $1::bigint, $2::text, $3::bytea, $4::numeric, $5::boolean")
            for _ in 0..<5 { statement.bindNull() }
            #expect(try statement.next())
            #expect(
                (0..<5).allSatisfy { statement.isNull($0) && statement.number($0) == 0 && statement.text($0).isEmpty })
            statement.reset()
        }
    }

    @Test func arraysAreTables() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            let numbers = try session.statement("SELECT x FROM unnest($1::bigint[]) x")
            numbers.bind(numbers: Self.numbers)
            var read: [Int64] = []
            while try numbers.next() { read.append(numbers.number(0)) }
            #expect(read == Self.numbers)
            numbers.bind(numbers: [])
            #expect(try !numbers.next())

            let texts = try session.statement("SELECT x FROM unnest($1::text[]) x")
            texts.bind(texts: ["", "a,b", "{ü}"])
            var found: [String] = []
            while try texts.next() { found.append(texts.text(0)) }
            #expect(found == ["", "a,b", "{ü}"])

            let blobs = try session.statement("SELECT x FROM unnest($1::bytea[]) x")
            blobs.bind(blobs: [[], [0, 255]])
            var bytes: [[UInt8]] = []
            while try blobs.next() { bytes.append(blobs.bytes(0)) }
            #expect(bytes == [[], [0, 255]])

        }
    }

    @Test func whatDoesNotFitAParameterIsNamedWithoutItsValue() async throws {
        let database = try await TestDatabase()
        let errors = try await database.withSession { session throws in
            let statement = try session.statement("SELECT $1::bigint, $2::text")
            statement.bind("secret")
            statement.bind("b")
            let misfit = failure { try statement.next() }
            statement.bind(1)
            let missing = failure { try statement.next() }
            statement.bind(1)
            statement.bind("b")
            #expect(try statement.next())
            statement.reset()
            return [misfit, missing]
        }
        #expect(errors[0]?.message == "In a statement parameter 1 is bigint, and a text was bound to it.")
        #expect(errors[1]?.message == "A statement has 2 parameters, and 1 were bound.")
    }

    @Test func columnOfATypeThatIsNotReadIsAnError() async throws {
        let database = try await TestDatabase()
        let error = try await database.withSession { session in
            failure { try session.statement("SELECT '{1}'::point[]") }
        }
        #expect(error?.kind == .misuse || error?.state == "22P02")
        let other = try await database.withSession { session in failure { try session.statement("SELECT point(1, 2)") }
        }
        #expect(other?.kind == .misuse)
    }

    @Test func changesAreCountedWithoutThoseOfTriggers() async throws {
        let database = try await TestDatabase()
        try await database.withSession { session throws in
            try session.run(
                script: """
                    CREATE TABLE a (x bigint); CREATE TABLE b (x bigint);
                    CREATE FUNCTION copy() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN INSERT INTO b VALUES (new.x), (new.x); RETURN NULL; END $$;
                    CREATE TRIGGER copied AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION copy();
                    """, timeout: .seconds(10))
            let insertion = try session.statement("INSERT INTO a SELECT x FROM unnest($1::bigint[]) x")
            insertion.bind(numbers: [1, 2, 3])
            #expect(try insertion.run() == 3)
            #expect(try session.numbers("SELECT count(*) FROM b") == [6])
        }
    }
}
