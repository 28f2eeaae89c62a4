#if PostgreSQL
    import PostgresStorage

    /// What a message that was answered 200 is worth on a database server: whether a crash or a failover may lose it.
    struct DurabilityCheck {
        let facts: DatabaseFacts
        /// Whether what is not safe is only warned of.
        let isUnsafeAllowed: Bool

        /// What was found.
        var findings: [Finding] {
            [Finding(.good, "database", "PostgreSQL \(facts.version)")] + crash + [failover]
        }

        private var unsafeGrade: Finding.Grade { isUnsafeAllowed ? .warning : .bad }

        /// What a crash of the server's machine may lose.
        private var crash: [Finding] {
            var findings: [Finding] = []
            if !facts.syncs {
                findings.append(
                    Finding(
                        unsafeGrade, "durability",
                        "fsync is off: a crash of the server's machine may lose the whole database; set fsync = on"))
            }
            if !facts.writesFullPages {
                findings.append(
                    Finding(
                        unsafeGrade, "durability",
                        "full_page_writes is off: a crash may damage the database; set full_page_writes = on"))
            }
            if facts.commitLevel == "off" {
                findings.append(
                    Finding(
                        unsafeGrade, "durability",
                        "synchronous_commit is off: a crash loses what was accepted last; set synchronous_commit = on"))
            }
            return findings
        }

        /// For how many standbys a commit waits: `ANY 2 (a, b)`, `FIRST 2 (a, b)`, `2 (a, b)`, or one of a list
        /// (postgresql.org/docs/15/runtime-config-replication.html).
        static func waitedFor(_ names: String) -> Int {
            let words = names.split { $0 == " " || $0 == "(" }
            let isNamed = ["ANY", "FIRST"].contains(words.first?.uppercased() ?? "")
            guard names.contains("("), let word = isNamed ? words.dropFirst().first : words.first else { return 1 }
            return Int(word) ?? 1
        }

        /// What the loss of the server may lose.
        private var failover: Finding {
            let isWaitedFor = !facts.synchronousNames.isEmpty && ["on", "remote_apply"].contains(facts.commitLevel)
            if isWaitedFor {
                let names = "synchronous_standby_names = \(facts.synchronousNames)"
                guard facts.seesReplication else {
                    return Finding(
                        .warning, "replication",
                        "commits wait for standbys (\(names)); whether these are connected is not this user's to know: "
                            + "GRANT pg_monitor to it")
                }
                guard facts.synchronousStandbys >= Self.waitedFor(facts.synchronousNames) else {
                    return Finding(
                        .bad, "replication",
                        "\(names), and \(facts.synchronousStandbys) of them are connected: no commit comes to its end")
                }
                return Finding(
                    .good, "replication",
                    "commits wait for standbys (\(names), \(facts.synchronousStandbys) of \(facts.standbys) connected): "
                        + "a failover loses nothing")
            }
            guard facts.standbys > 0 else {
                return Finding(
                    .warning, "replication",
                    "no standby is connected: what the server's disk loses is lost; have one, and name it in "
                        + "synchronous_standby_names")
            }
            let lag = facts.lag.map { ", \($0) bytes behind" } ?? ""
            return Finding(
                .warning, "replication",
                "\(facts.standbys) standbys\(lag), for which no commit waits: a failover loses what they have not got; set "
                    + "synchronous_standby_names and synchronous_commit = on")
        }
    }
#endif
