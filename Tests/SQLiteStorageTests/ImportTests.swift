import Foundation
import GRDB
import Logging
import PushModel
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What an import of many rows keeps of the rules of the store, and what it takes for itself.
@Suite(.timeLimit(.minutes(5)))
struct ImportTests {
    private let directory: TestDirectory
    private let project = ProjectID(rawValue: "demo")!
    private let app = AppID(rawValue: "com.example.app")!
    private let time = Timestamp(seconds: 1_800_000_000)

    init() throws {
        directory = try TestDirectory()
    }

    private func open(_ role: StoreRole = .gateway) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.file("data"), role: role, logger: Logger(label: "test"))
    }

    private func row(_ number: Int, of app: AppID? = nil) -> ImportedRegistration {
        let bytes = [0xd7] + (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        var row = ImportedRegistration(app: app ?? self.app, address: .apple(DeviceToken(bytes: bytes)!, .production))
        row.topics = [ImportedTopic(Topic(rawValue: "news")!)]
        return row
    }

    private func take(
        _ rows: [ImportedRegistration], _ store: SQLiteStore, line: Int64 = 1
    ) async throws -> [Int: ImportRefusal] {
        try await store.importRegistrations(
            rows, into: project, source: "file", position: ImportPosition(fingerprint: 7, line: line, offset: line),
            at: time, by: .gateway)
    }

    private func number(_ sql: String, _ store: SQLiteStore) async throws -> Int64? {
        try await store.write { db in try db.number(sql) }
    }

    @Test(arguments: [1, 70, 3000])
    func theSumsOfRegistrationsAreRightWhateverTheSizeOfAChunk(size: Int) async throws {
        let store = try open()
        let count = size == 1 ? 10 : 3000
        let rows = (0..<count).map { row($0) }
        for start in stride(from: 0, to: count, by: size) {
            #expect(try await take(Array(rows[start..<min(count, start + size)]), store) == [:])
        }
        #expect(try await number("SELECT registrations FROM project WHERE name = 'demo'", store) == Int64(count))
        #expect(try await number("SELECT subscribers FROM topic", store) == Int64(count))
        #expect(try await store.activeRegistrations(of: project, after: RegistrationKey(rawValue: 0)) == count)
        // Once more: each is there already.
        #expect(try await take(rows, store) == [:])
        #expect(try await number("SELECT registrations FROM project WHERE name = 'demo'", store) == Int64(count))
        #expect(try await store.check() == [])
    }

    @Test func aRegistrationAndAnImportMoveTheClockOfRegistrations() async throws {
        let store = try open()
        let clock = "SELECT value FROM meta WHERE name = 'registration_clock'"
        var ahead = row(1)
        ahead.refreshedAt = time + .seconds(86_400)
        #expect(try await take([row(2), ahead, row(3)], store) == [:])
        #expect(try await number(clock, store) == ahead.refreshedAt?.milliseconds)
        let later = time + .seconds(2 * 86_400)
        let request = RegistrationRequest(project: project, app: app, address: row(9).address, appVersion: nil)
        _ = try await store.register(request, at: later)
        #expect(try await number(clock, store) == later.milliseconds)
        // To the minute only.
        let soon = RegistrationRequest(project: project, app: app, address: row(10).address, appVersion: nil)
        _ = try await store.register(soon, at: later + .seconds(59))
        #expect(try await number(clock, store) == later.milliseconds)
    }

    @Test func whoGetsAnAddressThatWasJustLeftIsNotedOfBoth() async throws {
        let store = try open()
        #expect(try await take([row(1)], store) == [:])
        try await store.write { db in
            for number in [2, 3] {
                try db.post(
                    "INSERT INTO former_holder (app, address, registration) VALUES (1, ?, ?)",
                    [self.row(number).address.identity, number + 100])
            }
        }
        #expect(try await take([row(4), row(2)], store) == [:])
        let request = RegistrationRequest(project: project, app: app, address: row(3).address, appVersion: nil)
        let made = try await store.register(request, at: time).registration
        #expect(try await number("SELECT count(*) FROM address_move", store) == 2)
        let of = { (former: Int) in "SELECT registration FROM address_move WHERE former = \(former)" }
        let imported = try #require(try await store.registration(holding: row(2).address, of: app, in: project))
        #expect(try await number(of(102), store) == imported.key.rawValue)
        #expect(try await number(of(103), store) == made.key.rawValue)
    }

    @Test func aFIDThatAnotherAppOfTheProjectHasIsTaken() async throws {
        let store = try open()
        let id = RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA")!
        var (first, second) = (row(1), row(2, of: AppID(rawValue: "com.example.other")!))
        (first.id, second.id) = (id, id)
        #expect(try await take([first, second, row(3)], store) == [1: .idTaken])
        #expect(try await take([second], store) == [0: .idTaken])
        #expect(try await take([first], store) == [:])
        #expect(try await store.check() == [])
    }

    @Test func aTokenWithoutAFIDThatAnotherHasIsTaken() async throws {
        let store = try open()
        let token = RegistrationToken(rawValue: "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1")!
        var (first, second) = (row(1), row(2))
        (first.token, second.token) = (token, token)
        #expect(try await take([first, second], store) == [1: .tokenTaken])
        #expect(try await take([second, first], store) == [0: .tokenTaken])
    }

    @Test func namesThatAreMadeBesideTheWriterAreThoseOfTheRow() async throws {
        let store = try open()
        var (given, made) = (row(1), row(2))
        given.id = RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA")
        given.token = RegistrationToken(rawValue: "cAAAAAAAAAAAAAAAAAAAAA:APA91bSomething")
        given.names = try RegistrationNames(of: given)
        made.names = try RegistrationNames(of: made)
        #expect(try await take([given, made], store) == [:])
        #expect(try await store.registration(token: given.token!, in: project)?.id == given.id)
        let found = try #require(try await store.registration(holding: made.address, of: app, in: project))
        #expect(found.id == made.names?.id)
        #expect(found.token == (try made.names?.token.token(of: found.id.rawValue)))
        // A random FID that is taken is made anew.
        var collision = row(3)
        collision.names = made.names
        #expect(try await take([collision], store) == [:])
        let other = try #require(try await store.registration(holding: collision.address, of: app, in: project))
        #expect(other.id != found.id)
        #expect(try await store.check() == [])
    }

    @Test(arguments: [StoreRole.gateway, .command])
    func anImportHasAPageCacheUntilItEnds(role: StoreRole) async throws {
        let store = try open(role)
        let cache = "PRAGMA cache_size"
        let checkpoints = "PRAGMA wal_autocheckpoint"
        let before = (try await number(cache, store), try await number(checkpoints, store))
        #expect(try await take([row(1)], store) == [:])
        #expect(try await number(cache, store) == -Int64(ImportResources.cacheBytes >> 10))
        #expect(try await number(checkpoints, store) == 0)
        try await store.forgetImportPosition(of: "file")
        let after = (try await number(cache, store), try await number(checkpoints, store))
        #expect(after == before)
        // And so the next one.
        #expect(try await take([row(2)], store) == [:])
        #expect(try await number(cache, store) == -Int64(ImportResources.cacheBytes >> 10))
        try store.close()
    }

    @Test func theLogOfAnImportIsCopiedBesideIt() throws {
        let path = directory.file("import.sqlite")
        let writer = try DatabaseQueue(path: path, configuration: SQLiteEngine.configuration)
        let resources = ImportResources(checkpointing: path, copyPages: 10, logger: Logger(label: "test"))
        #expect(try resources.begin())
        try writer.writeWithoutTransaction { db in
            try resources.prepare(db)
            let bytes = Data("copied beside the writer".utf8) + Data(count: 20 * 4096)
            try db.execute(sql: "CREATE TABLE item (bytes BLOB)")
            try db.execute(sql: "INSERT INTO item VALUES (?)", arguments: [bytes])
            resources.noteCommit(db)
        }
        // The writer has the log open: it is copied by the other connection or not at all.
        try resources.close()
        let file = try Data(contentsOf: URL(filePath: path))
        #expect(file.range(of: Data("copied beside the writer".utf8)) != nil)
        try writer.close()
    }

    private func named(_ number: Int, _ id: String? = nil) throws -> ImportedRegistration {
        var row = row(number)
        row.id = try id.map { try #require(RegistrationID(rawValue: $0)) }
        row.names = try RegistrationNames(of: row)
        return row
    }

    @Test func aChunkIsTakenInTheOrderOfItsFIDs() async throws {
        let store = try open()
        let rows = try (0..<200).map { number in
            var row = try named(number)
            row.topics = (0...number % 3).map { ImportedTopic(Topic(rawValue: "topic-\($0)")!) }
            return row
        }
        #expect(try await take(rows, store) == [:])
        let ids = try await store.write { db in
            try db.column("SELECT fid FROM registration ORDER BY key") as [String]
        }
        let given = rows.compactMap { $0.names?.id.rawValue }
        #expect(ids == given.sorted() && ids.count == 200)
        for row in rows.prefix(9) {
            let registration = try #require(try await store.registration(holding: row.address, of: app, in: project))
            let topics = try await store.subscriptions(of: registration.key, after: nil, limit: 9).map(\.topic)
            #expect(topics == row.topics.map(\.topic))
        }
        #expect(try await store.check() == [])
    }

    /// The first row of a device is taken, whatever its FID is.
    @Test func rowsOfOneDeviceKeepTheOrderOfTheFile() async throws {
        let store = try open()
        let first = try named(1, "fAAAAAAAAAAAAAAAAAAAAA")
        let second = try named(1, "cAAAAAAAAAAAAAAAAAAAAA")
        #expect(try await take([try named(2), first, second], store) == [2: .otherID(try #require(first.id))])
        let other = try named(3, "dAAAAAAAAAAAAAAAAAAAAA")
        let again = try named(4, "dAAAAAAAAAAAAAAAAAAAAA")
        #expect(try await take([try named(5), other, again], store, line: 2) == [2: .idTaken])
        // A token without its FID in front can be in two rows.
        let token = try #require(RegistrationToken(rawValue: "an-old-token:of-another-gateway"))
        let tokens = try ["fBAAAAAAAAAAAAAAAAAAAA", "cBAAAAAAAAAAAAAAAAAAAA"].enumerated().map { number, id in
            var row = row(6 + number)
            (row.id, row.token) = (RegistrationID(rawValue: id), token)
            row.names = try RegistrationNames(of: row)
            return row
        }
        #expect(try await take(tokens, store, line: 3) == [1: .idTaken])
        #expect(try await store.check() == [])
    }

    @Test func aGatewayKnowsWhatAnImportBesideItChanged() async throws {
        let gateway = try open()
        let command = try open(.command)
        var before = row(1)
        before.user = UserID(rawValue: "alice")
        #expect(try await take([before], command) == [:])
        let first = try #require(try await gateway.registration(holding: before.address, of: app, in: project))
        #expect(try await gateway.addressee(.token(first.token), in: project) == first)
        var after = row(1)
        after.user = UserID(rawValue: "bob")
        #expect(try await take([after, row(2)], command, line: 2) == [:])
        // Any commit of its own tells the gateway.
        _ = try await gateway.subscribe([], to: Topic(rawValue: "news")!, at: time)
        #expect(try await gateway.addressee(.token(first.token), in: project)?.end?.cause == .replaced)
        #expect(try await number("SELECT registrations FROM project WHERE name = 'demo'", gateway) == 2)
        #expect(try await gateway.check() == [])
        try command.close()
        try gateway.close()
    }
}
