import Logging
import PushModel
import SQLiteStorage
import Store
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStorage
@testable import SQLStorage

/// A store of a directory becomes one of a database, whole.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct TransferTests {
    private static let logger = Logger(label: "test")

    private static func open(_ directory: TestDirectory, _ role: StoreRole = .gateway) throws -> SQLStore {
        try SQLiteStore(directory: directory.file("data"), role: role, logger: logger)
    }

    /// A random run over the embedded store, which is then copied: it balances, gives new rows new numbers, and has the same
    /// reports.
    @Test func aStoreGoesOnInADatabase() async throws {
        let directory = try TestDirectory()
        let time = Shared(Timestamp(milliseconds: 0))
        let source = try Self.open(directory)
        let project = try #require(ProjectID(rawValue: "demo"))
        let app = try #require(AppID(rawValue: "com.example.app"))
        var keys: [RegistrationKey] = []
        for number in 0..<60 as Range<UInt8> {
            let token = try #require(DeviceToken(bytes: Array(repeating: number, count: 32)))
            let request = RegistrationRequest(
                project: project, app: app, address: .apple(token, .production), appVersion: "1.0", owner: nil)
            keys.append(try await source.register(request, at: Timestamp(milliseconds: 1)).registration.key)
        }
        let topic = try #require(Topic(rawValue: "news"))
        _ = try await source.subscribe(keys, to: topic, at: Timestamp(milliseconds: 2))
        let broadcast = try await source.acceptOne(
            NewMessage(sampleFor: .topic(topic), in: project, at: 1000, number: 1))
        let single = try await source.acceptOne(
            NewMessage(sampleFor: .registration(keys[3]), in: project, at: 1001, number: 2))
        let newest = try await source.events(after: .zero, EventFilter(), limit: 0).newest

        let database = try await SampleDatabase.make()
        let target = try PostgresStore.open(
            url: database, role: .command, leaseTime: { time.withLock { $0 } }, logger: Self.logger)
        let steps = Shared<[String: Int]>([:])
        let tables = try await StoreTransfer(from: source.engine, to: target.engine).run { table, done, total in
            #expect(done <= total)
            steps.withLock { $0[table] = done }
        }
        let rows = Dictionary(uniqueKeysWithValues: tables.map { ($0.table, $0.rows) })
        #expect(rows["registration"] == 60)
        #expect(rows["subscription"] == 60)
        #expect(rows["message"] == 2)
        #expect(steps.withLock { $0["registration"] } == 60)
        #expect(try await target.check() == [])
        for message in [broadcast, single] {
            let before = try #require(try await source.report(message.id, in: project))
            let after = try #require(try await target.report(message.id, in: project))
            #expect(after.state == before.state)
            #expect(after.recipients == before.recipients)
            #expect(after.inFlight == before.inFlight)
            #expect(after.ended == before.ended)
        }
        #expect(try await target.events(after: .zero, EventFilter(), limit: 0).newest == newest)
        // What walks all messages, as an erasure, stops at the newest number.
        let newestMessage = try target.engine.readAtOnce { db in
            try db.number("SELECT seq FROM numbering WHERE name = 'message'")
        }
        #expect(newestMessage == 2)
        // What comes now has numbers of its own.
        let token = try #require(DeviceToken(bytes: Array(repeating: 200, count: 32)))
        let request = RegistrationRequest(
            project: project, app: app, address: .apple(token, .production), appVersion: "1.0", owner: nil)
        let added = try await target.register(request, at: Timestamp(milliseconds: 3)).registration
        #expect(try #require(keys.map(\.rawValue).max()) < added.key.rawValue)
        _ = try await target.acceptOne(NewMessage(sampleFor: .topic(topic), in: project, at: 1002, number: 3))
        #expect(try await target.check() == [])

        // A second time it is refused, and changes nothing.
        let again = await #expect(throws: StoreError.self) {
            try await StoreTransfer(from: source.engine, to: target.engine).run { _, _, _ in }
        }
        #expect(again?.code == .inUse)
        #expect(try await target.check() == [])
        try source.close()
        try target.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// Text with a zero in it is none for PostgreSQL.
    @Test func aRowThatTheDatabaseDoesNotTakeIsNamedAndNothingIsCopied() async throws {
        let directory = try TestDirectory()
        let source = try Self.open(directory)
        for number in 0..<5 as Range<UInt8> {
            let token = try #require(DeviceToken(bytes: Array(repeating: number, count: 32)))
            let request = RegistrationRequest(
                project: try #require(ProjectID(rawValue: "demo")),
                app: try #require(AppID(rawValue: "com.example.app")),
                address: .apple(token, .production), appVersion: "1.0", owner: nil)
            _ = try await source.register(request, at: Timestamp(milliseconds: 1))
        }
        let version = "UPDATE registration SET app_version = CAST(? AS TEXT) WHERE key = 4"
        _ = try await source.write { db in try db.change(version, [Array("secret\0".utf8)]) }
        let database = try await SampleDatabase.make()
        let target = try PostgresStore.open(url: database, role: .command, logger: Self.logger)
        let transfer = StoreTransfer(from: source.engine, to: target.engine)
        let error = await #expect(throws: StoreError.self) { try await transfer.run { _, _, _ in } }
        let message = try #require(error).message
        #expect(message.hasPrefix("Row 4 (key 4) of the table registration is not taken by the database: "))
        #expect(!message.contains("secret"))
        // Mended, it is copied: nothing was left behind.
        _ = try await source.write { db in try db.change(version, [Array("2.0".utf8)]) }
        let tables = try await transfer.run { _, _, _ in }
        #expect(tables.first { $0.table == "registration" }?.rows == 5)
        #expect(try await target.check() == [])
        try source.close()
        try target.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    @Test(arguments: [
        TransferPart.Limits(rows: 500, bytes: .max), TransferPart.Limits(rows: .max, bytes: 1), TransferPart.Limits(),
    ])
    func rowsOfSeveralPartsAreCopiedOnce(limits: TransferPart.Limits) async throws {
        let directory = try TestDirectory()
        let source = try Self.open(directory)
        let project = try #require(ProjectID(rawValue: "demo"))
        let links = (0..<1200).map { number in
            NewLink(
                project: project, prefix: "go.example.com", suffixes: ["s\(number)"], kind: .imported,
                parameters: "link=https%3A%2F%2Fa.example%2F\(number)", createdAt: Timestamp(milliseconds: 5))
        }
        #expect(try await source.importLinks(links).allSatisfy { $0 == .created })
        let database = try await SampleDatabase.make()
        let target = try PostgresStore.open(url: database, role: .command, logger: Self.logger)
        let steps = Shared<[Int]>([])
        var transfer = StoreTransfer(from: source.engine, to: target.engine)
        transfer.limits = limits
        let tables = try await transfer.run { table, done, total in
            #expect(done <= total)
            if table == "link" { steps.withLock { $0.append(done) } }
        }
        #expect(tables.first { $0.table == "link" }?.rows == 1200)
        #expect(steps.withLock { $0 } == (limits == TransferPart.Limits() ? [1200] : [500, 1000, 1200]))
        let before = try await source.exportLinks(of: project, after: LinkID(rawValue: 0), limit: 2000)
        #expect(try await target.exportLinks(of: project, after: LinkID(rawValue: 0), limit: 2000) == before)
        try source.close()
        try target.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }
}
