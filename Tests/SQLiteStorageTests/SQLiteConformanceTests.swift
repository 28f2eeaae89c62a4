import GRDB
import Logging
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

/// The SQLite store keeps everything that a store promises.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteConformanceTests {
    @Test(arguments: ConformanceCase.all)
    func sqliteConforms(to claim: ConformanceCase) async throws {
        let directory = try TestDirectory()
        try await claim.run(on: .sqlite(in: directory))
    }

    /// A store that others may have open too: workers that are gone are known by their leases only.
    @Test(arguments: ConformanceCase.all)
    func sqliteBesideOthersConforms(to claim: ConformanceCase) async throws {
        let directory = try TestDirectory()
        try await claim.run(on: .sqlite(in: directory, role: .command))
    }

    @Test(arguments: [7, 8] as [UInt64])
    func theLawHoldsBesideOthers(seed: UInt64) async throws {
        let directory = try TestDirectory()
        var run = try await RandomRun(subject: .sqlite(in: directory, role: .command), seed: seed)
        try await run.run(steps: 300)
    }

    /// The seeds are part of the test's name: a failing run is repeated by its name.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func theLawHoldsAfterEachStepOfARandomRun(seed: UInt64) async throws {
        let directory = try TestDirectory()
        var run = try await RandomRun(subject: .sqlite(in: directory), seed: seed)
        try await run.run(steps: 300, devices: seed % 3 == 0 ? 130 : 12)
    }
}

extension StoreSubject {
    static func sqlite(in directory: TestDirectory, role: StoreRole = .gateway) -> StoreSubject {
        let leaseTime = LeaseTime()
        return StoreSubject(
            leaseTime: leaseTime,
            open: {
                try SQLiteStore(
                    directory: directory.file("data"), role: role, leaseTime: { leaseTime.now },
                    logger: Logger(label: "test"))
            },
            lose: { store in try sqlite(store).close() },
            isExclusive: role == .gateway,
            verify: { store in
                let findings = try await sqlite(store).check()
                #expect(findings == [])
            },
            claimed: { _ in
                let file = try DatabaseQueue(path: directory.file("data/herald.db"))
                return try await file.read { db in
                    let rows = try GRDB.Row.fetchAll(
                        db,
                        sql: """
                            SELECT f.message, f.shard, f.claimed FROM fan_out f JOIN message m ON m.seq = f.message
                            WHERE m.state <> 'CANCELLED'
                            """)
                    return Dictionary(
                        uniqueKeysWithValues: rows.map { (OpenFanOut.ID(message: $0[0], shard: $0[1]), $0[2]) })
                }
            })
    }

    private static func sqlite(_ store: any CompleteStore) throws -> SQLiteStore {
        try #require(store as? SQLiteStore)
    }
}
