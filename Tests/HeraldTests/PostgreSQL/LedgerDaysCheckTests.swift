#if PostgreSQL
    import PostgresStorage
    import Testing

    @testable import herald

    /// What `doctor` says of the ledger's partitions.
    struct LedgerDaysCheckTests {
        private static func findings(partitions: Int, unprepared: Int64, locks: Int64 = 6400) -> [Finding] {
            // The 28th of November 2026.
            let days = LedgerDays(partitions: partitions, unprepared: unprepared, today: 20_785, locks: locks)
            return LedgerDaysCheck(days: days).findings
        }

        @Test func aMissingPartitionOfTomorrowIsNamed() {
            #expect(Self.findings(partitions: 1, unprepared: 20_700) == [])
            let good = Self.findings(partitions: 90, unprepared: 20_787)
            #expect(good.map(\.grade) == [.good] && good[0].text.contains("up to 2026-11-29"))
            for unprepared in [20_786, 20_785, 20_700] as [Int64] {
                let findings = Self.findings(partitions: 90, unprepared: unprepared)
                #expect(findings.map(\.grade) == [.warning])
                #expect(findings[0].text.contains("tomorrow, 2026-11-29"), "\(findings)")
            }
        }

        @Test func tooFewLocksAreNamed() {
            let findings = Self.findings(partitions: 103, unprepared: 20_787, locks: 4900)
            #expect(findings.map(\.grade) == [.good, .warning])
            #expect(findings[1].text.contains("4944") && findings[1].text.contains("max_locks_per_transaction"))
            #expect(Self.findings(partitions: 103, unprepared: 20_787, locks: 4944).count == 1)
        }
    }
#endif
