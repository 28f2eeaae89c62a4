import Foundation
import GRDB
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// A disk that reports an error of a sync once may have lost what it did not write: what was answered stays all the same.
@Suite(.timeLimit(.minutes(5)))
struct FailedSyncTests {
    private let directory: TestDirectory
    private let store: SQLiteStore

    init() throws {
        directory = try TestDirectory()
        try #require(FailingSync.install())
        store = try SQLiteStore(directory: directory.file("data"), role: .gateway, logger: Logger(label: "test"))
    }

    private func insert(_ number: Int) async throws(StoreError) {
        try await store.insert(
            APIKeyRecord(
                id: "k\(number)", project: ProjectID(rawValue: "demo")!, role: .client,
                digest: Array(repeating: 1, count: 32), createdAt: Timestamp(milliseconds: 1), revokedAt: nil),
            by: CredentialUse(id: "test"))
    }

    /// The keys in the database's file, without its log: what is there when the disk has lost the log.
    private func keysWithoutLog() throws -> Int {
        let copy = directory.file("copy\(UInt64.random(in: 0 ... .max)).db")
        try FileManager.default.copyItem(atPath: directory.file("data/herald.db"), toPath: copy)
        return try DatabaseQueue(path: copy).read { db in
            // The log of a new store may hold the tables too.
            guard try db.tableExists("api_key") else { return 0 }
            return try Int.fetchOne(db, sql: "SELECT count(*) FROM api_key") ?? 0
        }
    }

    @Test func afterASyncThatFailedTheLogIsCheckpointedBeforeTheNextAnswer() async throws {
        for number in 0..<5 { try await insert(number) }
        #expect(try keysWithoutLog() < 5, "they are in the log")
        FailingSync.fail(in: directory.path, times: 1)
        let error = await #expect(throws: StoreError.self) { try await insert(5) }
        #expect(error?.isOfWholeStore == true)
        #expect(try await store.apiKey("k5") == nil)
        try await insert(6)
        #expect(try keysWithoutLog() >= 5)
        #expect(try await store.apiKey("k6") != nil)
    }

    @Test func aLogThatCannotBeCheckpointedRefusesWritesUntilItCan() async throws {
        for number in 0..<3 { try await insert(number) }
        FailingSync.fail(in: directory.path, times: 3)
        for number in 3..<5 {
            // The commit and the first attempt to settle the log; then another attempt.
            let error = await #expect(throws: StoreError.self) { try await insert(number) }
            #expect(error?.code == .failed && error?.isOfWholeStore == true)
        }
        try await insert(5)
        #expect(try keysWithoutLog() >= 3)
        #expect(try await store.apiKeys(of: nil).count == 4)
    }

    @Test func aReaderThatKeepsTheCheckpointFromItsEndKeepsAnswersBack() async throws {
        for number in 0..<3 { try await insert(number) }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: directory.file("data/herald.db"), configuration: configuration)
        try await reader.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM api_key")
        }
        try await insert(3)
        FailingSync.fail(in: directory.path, times: 1)
        await #expect(throws: StoreError.self) { try await insert(4) }
        let error = await #expect(throws: StoreError.self) { try await insert(5) }
        #expect(error?.isOfWholeStore == true)
        try await reader.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
        try await insert(6)
        #expect(try keysWithoutLog() >= 4)
    }
}
