import Foundation
import GRDB
import JSON
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What is special to the SQLite store: files, locks, settings, migrations, several processes.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteStoreTests {
    private let directory: TestDirectory
    private var path: String { directory.file("data") }

    init() throws {
        directory = try TestDirectory()
    }

    private func open(_ role: StoreRole = .gateway) throws -> SQLiteStore {
        try SQLiteStore(directory: path, role: role, logger: Logger(label: "test"))
    }

    private func permissions(_ file: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test func directoryAndFilesAreForTheirOwnerOnly() async throws {
        let store = try open()
        #expect(await store.state().isWritable)
        #expect(try permissions(path) == 0o700)
        for file in try FileManager.default.contentsOfDirectory(atPath: path) {
            #expect(try permissions(path + "/" + file) == 0o600, "\(file)")
        }
        #expect(FileManager.default.fileExists(atPath: path + "/herald.db-wal"))
    }

    @Test func commitsReachTheDiskBeforeTheyAreAnswered() async throws {
        let store = try open()
        #expect(try await store.lastColumn(of: "PRAGMA journal_mode") == ["wal"])
        #expect(try await store.lastColumn(of: "PRAGMA synchronous") == ["2"])
        #expect(try await store.lastColumn(of: "PRAGMA foreign_keys") == ["1"])
        // The waiting for other processes' locks is the store's own: in short steps, five seconds in all.
        #expect(try await store.lastColumn(of: "PRAGMA busy_timeout") == ["0"])
        #expect(SQLiteEngine.busyStep <= 0.005 && SQLiteEngine.busyStep * Double(SQLiteEngine.busyAttempts) == 5)
        #expect(SQLiteEngine.waitForTurn(attempts: SQLiteEngine.busyAttempts - 1))
        #expect(!SQLiteEngine.waitForTurn(attempts: SQLiteEngine.busyAttempts))
    }

    @Test func aSecondGatewayIsRefusedAndTheFirstGoesOn() async throws {
        let first = try open()
        let error = #expect(throws: StoreError.self) { _ = try open() }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains(path) == true)
        #expect(await first.state().isWritable)
        try first.close()
        let second = try open()
        #expect(await second.state().isWritable)
    }

    @Test func closingTwiceIsHarmlessAndLaterCallsFail() async throws {
        let store = try open()
        try store.close()
        try store.close()
        #expect(await store.state().isWritable == false)
        let error = await #expect(throws: StoreError.self) { _ = try await store.backlog() }
        #expect(error?.code == .unavailable)
    }

    @Test func aCommandBesideTheGatewaySeesAndIsSeen() async throws {
        let gateway = try open()
        let command = try open(.command)
        let project = try #require(ProjectID(rawValue: "demo"))
        let key = APIKeyRecord(
            id: "k", project: project, role: .sender, digest: Array(repeating: 7, count: 32),
            createdAt: Timestamp(milliseconds: 1), revokedAt: nil)
        try await command.insert(key, by: .gateway)
        #expect(try await gateway.apiKey("k") == key)
        #expect(try await command.revoke("k", at: Timestamp(milliseconds: 2), by: .gateway))
        #expect(try await gateway.apiKey("k")?.revokedAt != nil)
    }

    @Test func writesOfTwoOpenersAllArrive() async throws {
        let stores = [try open(), try open(.command)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let store = stores[number % 2]
                group.addTask {
                    try await store.insert(
                        APIKeyRecord(
                            id: "k\(number)", project: ProjectID(rawValue: "demo")!, role: .client,
                            digest: Array(repeating: 1, count: 32), createdAt: Timestamp(milliseconds: 1),
                            revokedAt: nil), by: .gateway)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await stores[0].apiKeys(of: nil).count == 200)
    }

    @Test func manyOpenersOfANewDirectoryMakeOneStore() async throws {
        let path = path
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let store = try SQLiteStore(directory: path, role: .command, logger: Logger(label: "test"))
                    return await store.state().isWritable
                }
            }
            for try await isWritable in group { #expect(isWritable) }
        }
        #expect(try await open().check() == [])
    }

    @Test func aCommandOfANewerVersionLeavesARunningGatewayAlone() async throws {
        let gateway = try open()
        // As if the gateway had an older schema: the migration is to be done.
        _ = try await gateway.lastColumn(of: "DELETE FROM grdb_migrations")
        let error = #expect(throws: StoreError.self) { _ = try open(.command) }
        #expect(error?.code == .inUse)
        #expect(await gateway.state().isWritable)
    }

    @Test func aStoreOfANewerVersionIsRefused() async throws {
        let store = try open()
        _ = try await store.lastColumn(of: "INSERT INTO grdb_migrations (identifier) VALUES ('999')")
        try store.close()
        let error = #expect(throws: StoreError.self) { _ = try open() }
        #expect(error?.code == .newerSchema)
        #expect(error?.message.contains(path) == true)
    }

    @Test func openingAgainMigratesNothingTwice() async throws {
        let first = try open()
        let tables = try await first.lastColumn(of: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        try first.close()
        let second = try open()
        #expect(
            try await second.lastColumn(of: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
                == tables)
        #expect(tables.contains("message") && tables.contains("fan_out"))
        #expect(try await second.check() == [])
    }

    @Test func everyTableIsStrict() async throws {
        let store = try open()
        let loose = try await store.lastColumn(
            of: """
                SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0
                    AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%'
                """)
        #expect(loose == [])
    }

    @Test func aMessageIsReadAndReportedWhateverItsBytesSay() async throws {
        let store = try open()
        let project = try #require(ProjectID(rawValue: "demo"))
        let made = try await store.register(
            RegistrationRequest(
                project: project, app: try #require(AppID(rawValue: "com.example.app")),
                address: .apple(try #require(DeviceToken(bytes: [1])), .production), appVersion: nil),
            at: Timestamp(milliseconds: 0)
        ).registration
        let chosen = "6c4f6b60-1f4c-4a52-9c1e-2a3b4c5d6e7f"
        let id = MessageID(acceptedAt: Timestamp(milliseconds: 1), random: 1)
        let new = NewMessage(
            id: id, project: project, recipient: .registration(made.key),
            content: PlainContent(#"{"data":{"a":"b"}}"#, pushID: PushID(rawValue: chosen)),
            lane: .interactive,
            facts: MessageFacts(label: nil, isDisplayed: false, collapseKey: nil, priority: 5, timeToLiveSeconds: 60),
            acceptedAt: Timestamp(milliseconds: 1), expiresAt: Timestamp(milliseconds: 60_001))
        _ = try await store.accept([new], claimedBy: nil)
        let older = #"{"data":{"a":"b"},"gone":1}"#
        _ = try await store.lastColumn(of: "UPDATE message SET source = '\(older)'")
        #expect(try await store.message(id, in: project)?.body.bytes == Array(older.utf8))
        // What the bytes say is the composer's to read.
        _ = try await store.lastColumn(of: "UPDATE message SET source = 'damaged'")
        #expect(try await store.message(id, in: project)?.body.bytes == Array("damaged".utf8))
        #expect(try await store.report(id, in: project)?.inFlight == 1)
        #expect(try await store.reports(in: project, after: nil, limit: 1).elements.count == 1)
        let listed = try await store.deliveries(of: id, in: project, outcome: nil, after: nil, limit: 9)
        #expect(listed.elements.map(\.pushID?.rawValue) == [chosen])
        let worker = try await store.enroll("test", for: .seconds(1000))
        let route = PushRoute(project: project, app: made.app, channel: .apns(.production))
        let claimed = try await store.claimDue(
            .interactive, route, limit: 1, by: worker, at: Timestamp(milliseconds: 1))
        #expect(claimed.map(\.expiresAt) == [Timestamp(milliseconds: 60_001)])
    }

    @Test func damageThatAWriteMetIsRemembered() async throws {
        let store = try open()
        await #expect(throws: StoreError.self) {
            try await store.write { _ in throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        }
        let state = await store.state()
        #expect(state.isWritable)
        #expect(state.problems.contains { $0.contains(path) && $0.contains("damaged") }, "\(state)")
    }

    @Test func aFileInPlaceOfTheDirectoryIsUnavailable() throws {
        try Data("x".utf8).write(to: URL(filePath: path))
        let error = #expect(throws: StoreError.self) { _ = try open() }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains(path) == true)
    }

    @Test func aDamagedFileIsReportedWithItsPath() throws {
        try open().close()
        try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: path + "/herald.db"))
        let error = #expect(throws: StoreError.self) { _ = try open() }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains(path) == true)
    }

    @Test func errorsNameNoValues() async throws {
        let store = try open()
        let key = APIKeyRecord(
            id: "secret-id", project: ProjectID(rawValue: "demo")!, role: .client,
            digest: Array(repeating: 1, count: 32), createdAt: Timestamp(milliseconds: 1), revokedAt: nil)
        try await store.insert(key, by: .gateway)
        let error = await #expect(throws: StoreError.self) { try await store.insert(key, by: .gateway) }
        #expect(error?.code == .failed)
        #expect(error.map { "\($0) \($0.underlying as Any)".contains("secret-id") } == false)
    }
}
