#if PostgreSQL
    import PostgresStorage
    import PushModel

    /// How the ledger is divided by days on a database server.
    struct LedgerDaysCheck {
        let days: LedgerDays

        /// How many statements may look at the whole ledger at a time: the reading connections of a node.
        private static let readers: Int64 = 8

        /// What was found: nothing before the first gateway has begun with days.
        var findings: [Finding] {
            guard days.isBegun else { return [] }
            return [preparation] + locks
        }

        private static func date(_ day: Int64) -> String {
            String(Timestamp(milliseconds: day * 86_400_000).rfc3339.prefix(10))
        }

        private var preparation: Finding {
            guard days.unprepared <= days.today + 1 else {
                let last = Self.date(days.unprepared - 1)
                return Finding(.good, "ledger", "\(days.partitions) partitions, prepared up to \(last)")
            }
            return Finding(
                .warning, "ledger",
                "there is no partition for tomorrow, \(Self.date(days.today + 1)): blocks go on in the last one, which is "
                    + "removed as a whole later; a gateway that runs makes one within an hour, if its user may create "
                    + "tables and nothing holds a lock of ledger_block")
        }

        private var locks: [Finding] {
            let needed = LedgerDays.locksOfPartition * Int64(days.partitions) * Self.readers
            guard days.locks < needed else { return [] }
            return [
                Finding(
                    .warning, "ledger",
                    "the server has room for \(days.locks) locks, and \(Self.readers) readers of all "
                        + "\(days.partitions) partitions may take \(needed); set a higher max_locks_per_transaction")
            ]
        }
    }
#endif
