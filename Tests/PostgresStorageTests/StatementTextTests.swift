import Testing

@testable import PostgresStorage

/// The texts of statements, as steps write them and as PostgreSQL takes them.
struct StatementTextTests {
    private static let elements =
        "(SELECT place - 1 AS key, value FROM unnest($1::bigint[]) WITH ORDINALITY AS element (value, place))"

    private static let cases: [(String, String)] = [
        ("SELECT a FROM t WHERE b = ? AND c = ?", "SELECT a FROM t WHERE b = $1 AND c = $2"),
        ("SELECT ?2, ?1, ?2, ?", "SELECT $2, $1, $2, $3"),
        ("SELECT '?', \"a?\", 'it''s ?' WHERE x = ?", "SELECT '?', \"a?\", 'it''s ?' WHERE x = $1"),
        ("SELECT a FROM t INDEXED BY t_by_a WHERE a = ?", "SELECT a FROM t WHERE a = $1"),
        ("SELECT a FROM t NOT INDEXED WHERE a = 1", "SELECT a FROM t WHERE a = 1"),
        ("SELECT a FROM t x INDEXED BY t_by_a\nORDER BY a", "SELECT a FROM t x\nORDER BY a"),
        ("DELETE FROM t WHERE NOT a = 1", "DELETE FROM t WHERE NOT a = 1"),
        (
            "SELECT 1 FROM a CROSS JOIN b ON b.x = a.x WHERE a.y = ?",
            "SELECT 1 FROM a  JOIN b ON b.x = a.x WHERE a.y = $1"
        ),
        ("SELECT 1 FROM a CROSS JOIN b WHERE a.x = b.x", "SELECT 1 FROM a CROSS JOIN b WHERE a.x = b.x"),
        (
            "SELECT 1 FROM a CROSS JOIN b CROSS JOIN c ON c.x = b.x",
            "SELECT 1 FROM a CROSS JOIN b  JOIN c ON c.x = b.x"
        ),
        (
            "SELECT (SELECT 1 FROM a CROSS JOIN b) FROM c JOIN d ON c.x = d.x",
            "SELECT (SELECT 1 FROM a CROSS JOIN b) FROM c JOIN d ON c.x = d.x"
        ),
        (
            "SELECT 1 FROM m WHERE +m.project = ? AND a + b > 1 + ?",
            "SELECT 1 FROM m WHERE m.project = $1 AND a + b > 1 + $2"
        ),
        ("SELECT value FROM numbers(?)", "SELECT value FROM \(elements) AS numbers"),
        ("SELECT k.key FROM numbers(?) k WHERE 1 = 1", "SELECT k.key FROM \(elements) k WHERE 1 = 1"),
        (
            "SELECT 1 WHERE x IN (SELECT value FROM numbers(?1))",
            "SELECT 1 WHERE x IN (SELECT value FROM \(elements) AS numbers)"
        ),
        ("SELECT numbers FROM t", "SELECT numbers FROM t"),
        ("SELECT m.user, 'user' FROM m WHERE user = ?", "SELECT m.\"user\", 'user' FROM m WHERE \"user\" = $1"),
    ]

    @Test(arguments: cases)
    func textIsPostgreSQLs(text: String, expected: String) {
        #expect(StatementText.postgreSQL(text) == expected)
    }

    @Test func tableOfPairsHasTwoElementsInARow() {
        #expect(
            StatementText.postgreSQL("SELECT first FROM pairs(?) k")
                == "SELECT first FROM (SELECT place - 1 AS key, ($1::bigint[])[2 * place - 1] AS first, "
                + "($1::bigint[])[2 * place] AS second FROM generate_series(1, cardinality($1::bigint[]) / 2) AS place) k"
        )
    }
}
