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

/// What is particular to how the embedded store keeps registrations.
@Suite(.timeLimit(.minutes(5)))
struct RegistrationTests {
    private let directory: TestDirectory
    private let project = ProjectID(rawValue: "demo")!
    private let app = AppID(rawValue: "com.example.app")!
    private let time = Timestamp(milliseconds: 1000)

    init() throws {
        directory = try TestDirectory()
    }

    private func open() throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    private let importer = CredentialUse(id: CredentialUse.commandID, name: "alice")

    private func row(_ number: UInt8) -> ImportedRegistration {
        ImportedRegistration(app: app, address: .apple(DeviceToken(bytes: [0xd7, number])!, .sandbox))
    }

    private func take(
        _ rows: [ImportedRegistration], _ store: SQLiteStore, line: Int64 = 1
    ) async throws -> [Int: ImportRefusal] {
        try await store.importRegistrations(
            rows, into: project, source: "file",
            position: ImportPosition(fingerprint: 7, line: line, offset: line * 10),
            at: time, by: importer)
    }

    private func exported(_ store: SQLiteStore) async throws -> [ImportedRegistration] {
        try await store.exportRegistrations(of: project, after: RegistrationKey(rawValue: 0), limit: 100).rows
    }

    @Test func aTokenMadeHereIsMadeAgainFromItsSeedAndKnownWhenItComesBack() throws {
        for _ in 0..<200 {
            let id = try RegistrationID.random()
            let stored = StoredToken.random()
            let token = try stored.token(of: id.rawValue)
            #expect(token.rawValue.utf8.count == 163 && token.rawValue.hasPrefix("\(id):APA91b"))
            #expect(StoredToken(token, of: id) == stored)
            for dialect in [Dialect.sqlite, .postgreSQL] {
                #expect(try StoredToken(stored.value(dialect), dialect) == stored)
            }
            // One character changed far behind the seed is another token.
            let other = RegistrationToken(
                rawValue: token.rawValue.dropLast() + (token.rawValue.hasSuffix("A") ? "B" : "A"))!
            guard case .tail = StoredToken(other, of: id) else {
                Issue.record("\(other) is not the token of a seed")
                return
            }
            #expect(try StoredToken(other, of: id).token(of: id.rawValue) == other)
            #expect(!token.matches(other))
        }
        let foreign = RegistrationToken(rawValue: "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1")!
        let stored = StoredToken(foreign, of: try .random())
        #expect(stored == .whole(foreign.rawValue) && foreign.id == nil)
        for dialect in [Dialect.sqlite, .postgreSQL] {
            let token = try StoredToken(stored.value(dialect), dialect).token(of: "anything")
            #expect(token == foreign)
        }
    }

    @Test func anImportedRowComesOutAsItWentIn() async throws {
        let store = try open()
        var full = row(1)
        full.id = RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA")
        full.token = RegistrationToken(rawValue: "cAAAAAAAAAAAAAAAAAAAAA:APA91bSomething")
        full.user = UserID(rawValue: "Grüße, \"x\"")
        full.appVersion = "1.2"
        full.createdAt = Timestamp(milliseconds: 5)
        full.refreshedAt = Timestamp(milliseconds: 6)
        full.provenAt = Timestamp(milliseconds: 7)
        full.quarantine = Quarantine(time: Timestamp(milliseconds: 8), reason: Reason(rawValue: "BadDeviceToken"))
        full.topics = [
            ImportedTopic(Topic(rawValue: "news")!),
            ImportedTopic(Topic(rawValue: "a.b")!, createdAt: Timestamp(milliseconds: 9)),
        ]
        var foreign = row(2)
        foreign.token = RegistrationToken(rawValue: "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1")
        #expect(try await take([full, foreign, row(3)], store) == [:])
        let rows = try await exported(store)
        #expect(rows.first == full)
        #expect(rows[1].token == foreign.token)
        let found = try await store.registration(token: foreign.token!, in: project)
        #expect(found?.address == foreign.address && found?.createdAt == time)
        #expect(try await store.check() == [])
        // The same again changes nothing, and what was exported fits too.
        #expect(try await take([full, foreign, row(3)], store) == [:])
        #expect(try await take(rows, store) == [:])
        #expect(try await exported(store) == rows)
        #expect(try await store.check() == [])
    }

    @Test func rowsThatContradictTheStoreAreRefusedAndTheOthersTaken() async throws {
        let store = try open()
        let made = try await store.register(
            RegistrationRequest(
                project: project, app: app, address: row(1).address.on(.apns(.production)), appVersion: nil,
                owner: .user(UserID(rawValue: "alice")!)), at: time
        ).registration
        let other = RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA")!
        var rows = (0..<5).map { _ in row(1) }
        rows[0].id = other
        rows[1].token = RegistrationToken(rawValue: "\(made.id):APA91bother")
        rows[2].id = made.id
        rows[2].user = UserID(rawValue: "bob")
        rows[3] = row(2)
        rows[3].id = made.id
        rows[4] = row(3)
        rows[4].topics = (0...2000).map { ImportedTopic(Topic(rawValue: "t\($0)")!) }
        let expected: [Int: ImportRefusal] = [
            0: .otherID(made.id), 1: .otherToken, 2: .otherUser, 3: .idTaken, 4: .tooManyTopics,
        ]
        #expect(try await take(rows + [row(9)], store) == expected)
        #expect(try await store.importPosition(of: "file")?.imported == 1)
        #expect(try await exported(store).map(\.address) == [made.address, row(9).address])
        #expect(try await store.check() == [])
    }

    @Test func aFIDThatAnInstallationHoldsIsTaken() async throws {
        let store = try open()
        let id = try await store.install(
            NewInstallation(
                project: project, id: RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA"), app: "1:1:ios:a",
                sdkVersion: "i:12.0.0", refreshDigest: Array(repeating: 1, count: 32),
                token: InstallationToken(digest: Array(repeating: 2, count: 32), expiresAt: time)), at: time)
        var rows = [row(1), row(2)]
        rows[0].id = id
        rows[1].token = RegistrationToken(rawValue: "\(id):APA91bSomething")
        #expect(try await take(rows, store) == [0: .idTaken, 1: .idTaken])
        #expect(try await exported(store) == [])
    }

    /// A store in which an import was not kept from a FID of an installation.
    @Test(arguments: [false, true])
    func anInstallationDoesNotTakeOverWhoHasItsFIDToo(hasEnded: Bool) async throws {
        let store = try open()
        let id = RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA")!
        var imported = row(1)
        imported.id = id
        #expect(try await take([imported], store) == [:])
        let owner = try #require(try await store.registration(id, in: project))
        if hasEnded { try await store.end(owner.key, RegistrationEnd(time: time, cause: .unregistered)) }
        try await store.write { db in
            try db.post(
                """
                INSERT INTO installation (project, fid, app, sdk_version, refresh_digest, created_at, used_at)
                VALUES ('demo', ?, '1:1:ios:a', 'i:12.0.0', zeroblob(32), 1, 1)
                """, [id.rawValue])
        }
        let before = try await store.registration(id, in: project)
        for number in [2, 3] as [UInt8] {
            let made = try #require(try await register(number, for: id, store))
            #expect(made.id != id && made.key != owner.key && made.address == row(number).address)
            #expect(try await store.installation(id, in: project)?.registration == made.key)
            #expect(try await store.registration(id, in: project) == before)
        }
        #expect(try await store.check() == [])
    }

    @Test func theDeviceOfAnImportedRegistrationKeepsItWhenItsInstallationComes() async throws {
        let store = try open()
        let id = RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA")!
        var imported = row(1)
        imported.id = id
        _ = try await take([imported], store)
        try await store.write { db in
            try db.post(
                """
                INSERT INTO installation (project, fid, app, sdk_version, refresh_digest, created_at, used_at)
                VALUES ('demo', ?, '1:1:ios:a', 'i:12.0.0', zeroblob(32), 1, 1)
                """, [id.rawValue])
        }
        let owner = try #require(try await store.registration(id, in: project))
        for number in [1, 2] as [UInt8] {
            let made = try await register(number, for: id, store)
            #expect(made?.key == owner.key && made?.token == owner.token)
        }
    }

    private func register(
        _ number: UInt8, for id: RegistrationID, _ store: SQLiteStore
    ) async throws -> Registration? {
        let result = try await store.register(
            RegistrationRequest(
                project: project, app: app, address: row(number).address.on(.apns(.sandbox)),
                appVersion: nil, owner: nil), for: id, at: time)
        guard case .registered(let made) = result else { return nil }
        return made
    }

    @Test func aRefusedRowOfAChunkKeepsNoOtherOutAndThePositionCountsIt() async throws {
        let store = try open()
        var twice = [row(1), row(2), row(3)]
        twice[0].id = RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA")
        twice[0].topics = [ImportedTopic(Topic(rawValue: "news")!)]
        twice[2].id = twice[0].id
        #expect(try await take(twice, store, line: 5) == [2: .idTaken])
        #expect(try await exported(store).map(\.address) == [row(1).address, row(2).address])
        let position = try await store.importPosition(of: "file")
        #expect(position?.line == 5 && position?.offset == 50)
        #expect(position?.imported == 2 && position?.rejected == 1)
        try await store.forgetImportPosition(of: "file")
        #expect(try await store.importPosition(of: "file") == nil)
        #expect(try await store.check() == [])
    }

    @Test func anImportedUserTakesTheDeviceOverFromAnotherOne() async throws {
        let store = try open()
        let made = try await store.register(
            RegistrationRequest(
                project: project, app: app, address: row(1).address.on(.apns(.production)), appVersion: nil,
                owner: .user(UserID(rawValue: "alice")!)), at: Timestamp(milliseconds: 1)
        ).registration
        var next = row(1)
        next.user = UserID(rawValue: "bob")
        #expect(try await take([next], store) == [:])
        #expect(try await store.registration(made.id, in: project)?.end?.cause == .replaced)
        #expect(try await store.registrations(of: next.user!, in: project, limit: 9).count == 1)
        #expect(
            try await store.audit(of: made.id, in: project, limit: 9).map(\.cause) == [.userChanged, .userAssigned])
        // The audit log says who imported, and when: not when the device was refreshed.
        let entry = try await store.auditEntries(AuditFilter(), after: nil, limit: 9).elements.first
        #expect(entry?.action == .userChanged && entry?.credential == importer && entry?.time == time)
        #expect(entry?.details["proof"] == "import")
        // An older file does not undo it.
        var old = row(1)
        old.user = UserID(rawValue: "alice")
        old.refreshedAt = Timestamp(milliseconds: 2)
        #expect(try await take([old], store) == [:])
        #expect(try await store.registrations(of: old.user!, in: project, limit: 9) == [])
    }

    @Test func aDeviceWithTwoUsersInOneFileGoesToTheSecond() async throws {
        let store = try open()
        var rows = [row(1), row(1), row(2)]
        for index in rows.indices { rows[index].topics = [ImportedTopic(Topic(rawValue: "news")!)] }
        rows[0].user = UserID(rawValue: "alice")
        rows[1].user = UserID(rawValue: "bob")
        #expect(try await take(rows, store) == [:])
        #expect(try await exported(store).map(\.user) == [rows[1].user, nil])
        #expect(try await store.lastColumn(of: "SELECT subscribers FROM topic") == ["2"])
        #expect(try await store.lastColumn(of: "SELECT value FROM meta WHERE name = 'subscriptions'") == ["3"])
        #expect(try await store.check() == [])
    }

    private func message(_ number: UInt64, to registration: Registration) throws -> NewMessage {
        NewMessage(
            id: MessageID(acceptedAt: time, random: number), project: project,
            recipient: .registration(registration.key),
            content: PlainContent(),
            lane: .interactive,
            facts: MessageFacts(label: nil, isDisplayed: false, collapseKey: nil, priority: 5, timeToLiveSeconds: 60),
            acceptedAt: time, expiresAt: time + .seconds(60))
    }

    private func registrations(_ numbers: [UInt8], _ store: SQLiteStore) async throws -> [Registration] {
        #expect(try await take(numbers.map(row), store) == [:])
        return try await store.registrations(in: project, .active, after: nil, limit: 9).elements
    }

    private func purge(_ registration: Registration, _ store: SQLiteStore) async throws {
        try await store.end(registration.key, RegistrationEnd(time: time, cause: .deleted))
        #expect(try await store.purge(endedBefore: time + .milliseconds(1), limit: 9) == 1)
    }

    @Test func aMessageToAPurgedRegistrationIsStillReportedAndListed() async throws {
        let store = try open()
        let made = try #require(try await registrations([1], store).first)
        let message = try message(1, to: made)
        _ = try await store.accept([message], claimedBy: nil)
        // As after its end: nothing waits for an attempt, so the registration may go.
        _ = try await store.control(message.id, in: project, .cancel, at: time, by: .gateway)
        _ = try await store.bookCancelled(limit: 100, at: time)
        try await purge(made, store)
        let target = Recipient<RegistrationID, Int>.registration(made.id)
        #expect(try await store.message(message.id, in: project)?.recipient == target)
        #expect(try await store.report(message.id, in: project)?.message.recipient == target)
        for state in [nil, MessageState.cancelled] {
            let page = try await store.reports(in: project, state: state, after: nil, limit: 9)
            #expect(page.elements.map(\.message.recipient) == [target])
        }
        let listed = try await store.deliveries(of: message.id, in: project, outcome: nil, after: nil, limit: 9)
        #expect(listed.elements.count == 1)
    }

    @Test func aMessageToARegistrationThatWentAwayLeavesTheOthersOfItsCommitAlone() async throws {
        let store = try open()
        let made = try await registrations([1, 2], store)
        try await purge(made[0], store)
        var gone = try message(1, to: made[0])
        gone.idempotency = IdempotencyKey(key: "k", digest: Array(repeating: 1, count: 32))
        let results = try await store.accept([gone, message(2, to: made[1])], claimedBy: nil)
        guard case .noRegistration = results[0], case .accepted(let accepted, _) = results[1] else {
            Issue.record("\(results)")
            return
        }
        #expect(accepted.recipient == .registration(made[1].id))
        #expect(try await store.message(gone.id, in: project) == nil)
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM idempotency") == ["0"])
        #expect(try await store.report(accepted.id, in: project)?.inFlight == 1)
        #expect(try await store.check() == [])
    }

    @Test func whatReportsNeedOfAPurgedRegistrationStays() async throws {
        let store = try open()
        #expect(try await take([row(1)], store) == [:])
        let made = try #require(
            try await store.registrations(in: project, .active, after: nil, limit: 9).elements.first)
        try await store.end(made.key, RegistrationEnd(time: time, cause: .deleted))
        #expect(try await store.purge(endedBefore: time + .milliseconds(1), limit: 9) == 1)
        let kept = try await store.lastColumn(
            of: "SELECT f.key || ' ' || f.fid || ' ' || a.name FROM former_registration f JOIN app a ON a.id = f.app")
        #expect(kept == ["\(made.key.rawValue) \(made.id) \(app)"])
        #expect(try await store.check() == [])
    }
}
