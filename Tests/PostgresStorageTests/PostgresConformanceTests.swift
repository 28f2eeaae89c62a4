import Logging
import PostgresStorage
import SQLStorage
import Store
import StoreConformance
import TestSupport
import Testing

/// The store on PostgreSQL keeps everything that a store promises. Others may have it open too: workers that are gone are
/// known by their leases.
@Suite(.timeLimit(.minutes(10)), .enabled(if: PostgreSQLServer.isInstalled))
struct PostgresConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func postgresConforms(to claim: ConformanceCase) async throws {
        try await ReusedDatabase.with { database in
            try await claim.run(on: .postgres(database))
        }
    }

    /// Partitions so small that what a step writes, and what a list reads, is in several of them.
    private static let smallPartitions = """
        ALTER TABLE ledger_block DETACH PARTITION ledger_block_first;
        ALTER TABLE ledger_block ATTACH PARTITION ledger_block_first FOR VALUES FROM (MINVALUE) TO (2);
        CREATE TABLE ledger_block_second PARTITION OF ledger_block FOR VALUES FROM (2) TO (4);
        CREATE TABLE ledger_block_third PARTITION OF ledger_block FOR VALUES FROM (4) TO (7);
        CREATE TABLE ledger_block_last PARTITION OF ledger_block FOR VALUES FROM (7) TO (\(Int64.max));
        """

    /// Whatever asks for blocks gets them from all partitions, in one order.
    @Test(
        arguments: ConformanceCase.all.filter { claim in
            !claim.needs.isDisjoint(with: [.ledger, .receipts, .events, .retention])
        })
    func postgresConformsWithALedgerInPartitions(to claim: ConformanceCase) async throws {
        try await ReusedDatabase.with(setup: Self.smallPartitions) { database in
            try await claim.run(on: .postgres(database))
        }
    }

    /// The seeds are part of the test's name: a failing run is repeated by its name.
    @Test(arguments: [1, 2, 3, 7] as [UInt64])
    func theLawHoldsAfterEachStepOfARandomRun(seed: UInt64) async throws {
        try await ReusedDatabase.with(setup: Self.smallPartitions) { database in
            var run = try await RandomRun(subject: .postgres(database), seed: seed)
            try await run.run(steps: 200, devices: seed % 3 == 0 ? 130 : 12)
        }
    }
}

extension StoreSubject {
    /// - Parameter url: of an empty store.
    static func postgres(_ url: String) -> StoreSubject {
        let leaseTime = LeaseTime()
        return StoreSubject(
            leaseTime: leaseTime,
            open: {
                try PostgresStore.open(
                    url: url, role: .gateway, leaseTime: { leaseTime.now }, logger: Logger(label: "test"))
            },
            lose: { store in try sql(store).close() },
            isExclusive: false,
            verify: { store in
                let findings = try await sql(store).check()
                #expect(findings == [])
            },
            claimed: { _ in
                let rows = try await PostgreSQLServer.shared().execute(
                    """
                    SELECT f.message, f.shard, f.claimed FROM fan_out f JOIN message m ON m.seq = f.message
                    WHERE m.state <> 'CANCELLED'
                    """, in: url)
                return Dictionary(
                    uniqueKeysWithValues: rows.map { row in
                        let numbers = row.split(separator: "|").compactMap { Int64($0) }
                        return (OpenFanOut.ID(message: numbers[0], shard: numbers[1]), Int(numbers[2]))
                    })
            })
    }

    private static func sql(_ store: any CompleteStore) throws -> SQLStore {
        try #require(store as? SQLStore)
    }
}
