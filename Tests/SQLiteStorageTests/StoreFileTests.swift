import Foundation
import GRDB
import Logging
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// The files hold nothing of what was removed, or it is said why they do.
@Suite(.timeLimit(.minutes(5)))
struct StoreFileTests {
    private typealias Base = UserErasureTests

    private let directory: TestDirectory
    private let alice = UserID(rawValue: "alice-7f3e9d")!

    init() throws {
        directory = try TestDirectory()
    }

    /// A connection that sees the store as it is now, until it ends.
    private struct OldReader {
        private let connection: DatabaseQueue

        init(_ directory: TestDirectory) throws {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.allowsUnsafeTransactions = true
            connection = try DatabaseQueue(path: directory.file("herald.db"), configuration: configuration)
            try connection.inDatabase { db in
                try db.execute(sql: "BEGIN")
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM registration")
            }
        }

        func end() throws {
            try connection.inDatabase { db in try db.execute(sql: "ROLLBACK") }
            try connection.close()
        }
    }

    private func sendToAlice(_ store: SQLiteStore) async throws {
        let registration = try await Base.register(1, alice.rawValue, in: store)
        _ = try await Base.send(.registration(registration.key), "s3cret-payload", in: store, at: 1000)
    }

    private func isDue(_ store: SQLiteStore) async throws -> Bool {
        try await store.read { db in try RewriteMark(db: db.sqlite).isDue() }
    }

    private func held() throws -> Int {
        try ["alice-7f3e9d", "s3cret-payload"].reduce(0) { $0 + (try Base.count($1, in: directory)) }
    }

    @Test func aReaderInTheWayOfAnErasureIsToldAndHoldsUpNoWrites() async throws {
        let store = try Base.open(directory)
        try await sendToAlice(store)
        let reader = try OldReader(directory)
        let isDone = Mutex(false)
        let user = alice
        let erasing = Task {
            defer { isDone.withLock { $0 = true } }
            return try await Base.erase(user, in: store)
        }
        var (number, longest) = (2, Duration.zero)
        while !isDone.withLock({ $0 }) {
            let start = ContinuousClock.now
            _ = try await Base.register(number, nil, in: store)
            longest = max(longest, ContinuousClock.now - start)
            number = number % 200 + 1
        }
        #expect(longest < .seconds(4))
        #expect(try await erasing.value.obstacle == .reader)
        #expect(store.hasUncleanFiles)
        #expect(try held() > 0)
        // Told again while it lasts.
        #expect(try await Base.erase(alice, in: store).obstacle == .reader)
        try reader.end()
        #expect(try await store.cleanFiles() == nil)
        #expect(!store.hasUncleanFiles)
        #expect(try held() == 0)
    }

    @Test func whatAReaderHeldUpIsDoneWhenTheStoreIsClosed() async throws {
        let store = try Base.open(directory)
        try await sendToAlice(store)
        let reader = try OldReader(directory)
        #expect(try await Base.erase(alice, in: store).obstacle == .reader)
        try reader.end()
        try store.close()
        #expect(try held() == 0)
        #expect(!FileManager.default.fileExists(atPath: directory.file("herald.db-wal")))
    }

    @Test func whatAReaderHeldUpIsDoneAtTheNextStart() async throws {
        let store = try Base.open(directory)
        try await sendToAlice(store)
        let reader = try OldReader(directory)
        #expect(try await Base.erase(alice, in: store).obstacle == .reader)
        try store.close()
        try reader.end()
        #expect(try held() > 0)
        let next = try Base.open(directory)
        #expect(!next.hasUncleanFiles)
        #expect(try held() == 0)
        try next.close()
    }

    @Test func anErasureThatWasBrokenOffIsFinishedAtTheNextStart() async throws {
        let store = try Base.open(directory)
        try await sendToAlice(store)
        try await store.write { db in try RewriteMark(db: db.sqlite).set() }
        let version = try await store.lastColumn(of: "PRAGMA schema_version")
        try store.close()
        let next = try Base.open(directory)
        #expect(try await next.lastColumn(of: "PRAGMA schema_version") != version, "it was written anew")
        #expect(try await isDue(next) == false)
        try next.close()
    }

    @Test func aFileThatIsTooLargeIsDueUntilItIsWrittenAnew() async throws {
        let store = try Base.open(directory)
        try await store.write { db in try RewriteMark(db: db.sqlite).set() }
        let isRewritten = try await store.sqlite.pool.writeWithoutTransaction { db in
            try RewriteMark(db: db).rewrite(upTo: 1)
        }
        #expect(!isRewritten)
        #expect(try await isDue(store))
        // As an operator does.
        try await store.sqlite.pool.writeWithoutTransaction { db in try db.execute(sql: "VACUUM") }
        #expect(try await isDue(store) == false)
        try store.close()
    }

    @Test(arguments: [StoreRole.gateway, .command])
    func aStoreThatIsClosedLeavesOneFileOfTheDatabase(role: StoreRole) async throws {
        try Base.open(directory).close()
        let store = try SQLiteStore(directory: directory.path, role: role, logger: Logger(label: "test"))
        _ = try await Base.register(1, "bob-in-the-log", in: store)
        #expect(
            try await store.registrations(of: UserID(rawValue: "bob-in-the-log")!, in: Base.project, limit: 1).count
                == 1)
        try store.close()
        for suffix in ["-wal", "-shm"] {
            #expect(!FileManager.default.fileExists(atPath: directory.file("herald.db" + suffix)), "\(suffix)")
        }
        #expect(try Base.count("bob-in-the-log", in: directory) > 0)
        try store.close()
    }

    @Test func theFilesOfAGatewayThatHasNothingElseToWriteHoldNoPayloadThatRetentionRemoved() async throws {
        let store = try Base.open(directory)
        try await sendToAlice(store)
        let rules = RetentionRules(standard: RetentionPolicy(ledgerDays: 10, payloadDays: 5))
        let now = Base.time(8 * 86_400_000)
        while try await !store.remove(.payloads, by: rules, at: now).isDone {}
        #expect(try Base.count("\"s3cret-payload\"", in: directory) > 0)
        #expect(try await store.cleanFiles() == nil)
        #expect(try Base.count("\"s3cret-payload\"", in: directory) == 0)
        try store.close()
    }
}
