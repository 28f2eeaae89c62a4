/// The tables of the store that gateways share.
///
/// They have the names and columns of the embedded store's, where these are explained; here stands what is different.
/// Numbers, times and flags are `bigint`; texts are compared byte for byte, whatever the language of the database. Each
/// row that gets a number by itself gets it from a sequence, which may leave some out.
///
/// Migrations are append-only: one that was released never changes, and what comes later is a migration of its own,
/// with a test that opens a store of each version before it.
enum Schema {
    /// A step from one version to the next.
    struct Migration: Sendable {
        /// The version that it leads to, by one more than that of the one before.
        let version: Int64
        /// The oldest version of the schema that a program may have been made for to go on beside this one: while the
        /// gateways of a cluster are replaced one after another, both run.
        let runsFrom: Int64
        /// What is done before it, each in a transaction of its own that may run again: what takes long, beside gateways that
        /// go on with their work, and what needs a lock that they give up now and then.
        var preparations: [String] = []
        /// What it does.
        let scripts: [String]
    }

    /// All of them, oldest first.
    static let migrations = [
        Migration(version: 1, runsFrom: 1, scripts: tables),
        Migration(version: 2, runsFrom: 1, scripts: [messagePlatforms]),
        Migration(version: 3, runsFrom: 1, scripts: [leavingNodes, providerTokens]),
        Migration(version: 4, runsFrom: 1, scripts: [traffic, topicDays]),
        Migration(version: 5, runsFrom: 1, scripts: [storedProjects, projectStandings]),
        Migration(
            version: 6, runsFrom: 1, preparations: [ledgerKeyDropped, ledgerBound, ledgerBoundChecked],
            scripts: [ledgerPartitions]),
        Migration(version: 7, runsFrom: 1, scripts: [rowRules]),
    ]

    /// The version that this program is made for.
    static var version: Int64 { migrations.last?.version ?? 0 }

    /// Which migrations were made, and when, in milliseconds since 1970.
    static let versions = """
        CREATE TABLE IF NOT EXISTS schema_version (
            version bigint PRIMARY KEY,
            runs_from bigint NOT NULL,
            time bigint NOT NULL
        );
        """

    /// For tables whose rows change or go all the time: dead rows are taken away when they are a fiftieth, not a fifth.
    static let eagerVacuum = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000"

    /// The tables of the first version, with what they refer to before them.
    private static let tables = [
        meta, projects, registrations, registrationClock, registrationChanges, registrationAudit, formerRegistrations,
        imports, topics, subscriptions, deviceGroups, installations, messages, messageLists,
        idempotencyKeys, workers, fanOuts, pending, addressMoves, ledger, messageSums, receipts, deliveryDays, channels,
        apiKeys,
        serviceAccounts, operators, auditLog, events, webhooks, links, messageLinks, clicks, referrals,
        retention, endedSingles, nodes,
    ]
}
