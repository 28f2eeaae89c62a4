import Logging
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

    /// The seeds are part of the test's name: a failing run is repeated by its name.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func theLawHoldsAfterEachStepOfARandomRun(seed: UInt64) async throws {
        let directory = try TestDirectory()
        var run = try await RandomRun(subject: .sqlite(in: directory), seed: seed)
        try await run.run(steps: 300, devices: seed % 3 == 0 ? 130 : 12)
    }
}

extension StoreSubject {
    static func sqlite(in directory: TestDirectory) -> StoreSubject {
        StoreSubject(
            open: {
                try SQLiteStore(directory: directory.file("data"), role: .gateway, logger: Logger(label: "test"))
            },
            lose: { store in try sqlite(store).close() },
            verify: { store in
                let findings = try await sqlite(store).check()
                #expect(findings == [])
            })
    }

    private static func sqlite(_ store: any CompleteStore) throws -> SQLiteStore {
        try #require(store as? SQLiteStore)
    }
}
