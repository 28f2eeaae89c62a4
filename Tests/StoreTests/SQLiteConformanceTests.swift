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

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func theLawHoldsAfterEachStepOfARandomRun(seed: UInt64) async throws {
        let directory = try TestDirectory()
        var run = try RandomRun(subject: .sqlite(in: directory), seed: seed)
        try await run.run(steps: 150)
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
