import GRDB
import Logging
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What steps may ask of a database, asked of SQLite.
@Suite(.timeLimit(.minutes(5)))
struct StatementTests {
    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLStorage.Database) throws -> Value
    ) async throws -> Value {
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        defer { withExtendedLifetime(directory) {} }
        return try await store.write(.change, body)
    }

    @Test func arraysAreTables() async throws {
        let texts = ["", "a\"b\\", "ü\u{1F600}\n", "x'0'"]
        let found = try await read { db in
            (
                numbers: try db.numbers("SELECT value FROM numbers(?) ORDER BY key", [[3, -1, .max] as [Int64]]),
                texts: try db.column("SELECT value FROM texts(?) ORDER BY key", [texts]) as [String],
                pairs: try db.rows(
                    "SELECT p.key, p.first, p.second FROM pairs(?) p CROSS JOIN meta m ON m.name = 'write_probe'",
                    [NumberPairs([(1, 2), (.max, .min)])]
                ).map { [$0[0], $0[1], $0[2]] as [Int64] },
                none: try db.numbers("SELECT value FROM numbers(?)", [[Int64]()]).isEmpty
                    && db.rows("SELECT 1 FROM pairs(?) p", [NumberPairs([])]).isEmpty
            )
        }
        #expect(found.numbers == [3, -1, .max])
        #expect(found.texts == texts)
        #expect(found.pairs == [[0, 1, 2], [1, .max, .min]])
        #expect(found.none)
    }

    @Test func valuesComeBackAsTheyWereBound() async throws {
        let (row, greatest) = try await read { db in
            let row = try #require(
                try db.row(
                    "SELECT ?, ?, ?, ?, ?, ?", [Int64.min, "text", [0, 255] as [UInt8], [UInt8](), true, nil]))
            return (
                (0..<6).map { row.value($0) }, try db.number("SELECT greatest(?, 2) - least(?, 2)", [5, 5])
            )
        }
        #expect(row == [.number(.min), .text("text"), .blob([0, 255]), .blob([]), .number(1), .null])
        #expect(greatest == 3)
    }

    @Test func aRowThatConflictsHasNoNumber() async throws {
        let numbers = try await read { db in
            let insertion = "INSERT INTO app (project, name, platform) VALUES (?, ?, 0) ON CONFLICT DO NOTHING"
            return try ["a", "a", "b"].map { try db.insertIfNew(insertion, ["demo", $0], key: "id") }
        }
        #expect(numbers[0] != nil && numbers[1] == nil && numbers[2] != nil)
    }

    /// A statement that is left before its last row would keep its snapshot, and give the rest to who asks next.
    @Test func aCursorThatIsLeftIsReadyForTheNext() async throws {
        let found = try await read { db in
            let sql = "SELECT value FROM numbers(?)"
            let numbers: [Int64] = [1, 2, 3]
            var first: [Int64] = []
            for _ in 0..<3 {
                let rows = try db.cursor(sql, [numbers])
                if let row = try rows.next() { first.append(row[0]) }
            }
            return (first, try db.numbers(sql, [numbers]))
        }
        #expect(found.0 == [1, 1, 1])
        #expect(found.1 == [1, 2, 3])
    }

    @Test func aSavepointThatFailsTakesItsOwnChangesBack() async throws {
        let names = try await read { db in
            let insertion = "INSERT INTO app (project, name, platform) VALUES ('demo', ?, 0)"
            try db.post(insertion, ["kept"])
            do {
                try db.inSavepoint {
                    try db.post(insertion, ["lost"])
                    throw StoreError(.failed, "after it")
                }
            } catch let error as StoreError {
                guard error.message == "after it" else { throw error }
            }
            return try db.column("SELECT name FROM app") as [String]
        }
        #expect(names == ["kept"])
    }

    @Test func errorsOfBindingShowWhenItRuns() async throws {
        await #expect(throws: StoreError.self) {
            try await read { db in try db.number("SELECT ?", [1, 2]) }
        }
    }
}
