import Foundation
import GRDB
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import StoreConformance
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What a message to one registration costs and leaves in the store, and that a kill loses none.
@Suite(.timeLimit(.minutes(5)))
struct SingleSendTests {
    private let directory: TestDirectory
    private let store: SQLiteStore
    private let project = ProjectID(rawValue: "demo")!
    private let now = Timestamp(milliseconds: 100)

    init() throws {
        directory = try TestDirectory()
        store = try Self.open(directory.file("data"))
    }

    private static func open(_ path: String) throws -> SQLiteStore {
        try SQLiteStore(directory: path, role: .gateway, logger: Logger(label: "test"))
    }

    private func register(_ count: Int) async throws -> [Registration] {
        var registrations: [Registration] = []
        for number in 0..<count {
            let request = RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production), appVersion: nil)
            registrations.append(try await store.register(request, at: Timestamp(milliseconds: 1)).registration)
        }
        return registrations
    }

    private func message(
        _ number: Int, _ recipient: Recipient<RegistrationKey, [RegistrationKey]>, lane: Lane = .interactive
    ) -> NewMessage {
        NewMessage(
            id: MessageID(acceptedAt: Timestamp(milliseconds: Int64(number)), random: 1), project: project,
            recipient: recipient, content: PlainContent(), lane: lane,
            facts: MessageFacts(label: nil, isDisplayed: true, collapseKey: nil, priority: 10, timeToLiveSeconds: 60),
            acceptedAt: Timestamp(milliseconds: 5), expiresAt: Timestamp(milliseconds: 60_005))
    }

    /// Accepts a message for each key, claimed by a worker.
    private func accept(
        _ keys: [RegistrationKey], from first: Int = 0, by worker: WorkerID?
    ) async throws -> [ClaimedDelivery] {
        let messages = keys.enumerated().map { message(first + $0, .registration($1)) }
        return try await store.accept(messages, claimedBy: worker).flatMap { result -> [ClaimedDelivery] in
            guard case .accepted(_, let claims) = result else { throw StoreError(.failed, "not accepted") }
            return claims
        }
    }

    private func ended(_ delivery: ClaimedDelivery, _ outcome: LedgerOutcome = .accepted) -> Settlement {
        Settlement(
            delivery: delivery,
            result: .ended(
                LedgerEntry(
                    outcome: outcome, reason: outcome == .accepted ? nil : "BadTopic", verdict: nil,
                    history: AttemptHistory(attempts: delivery.history.attempts + 1), time: Timestamp(milliseconds: 50),
                    latencyMilliseconds: 45,
                    pushID: PushID(message: delivery.message, registration: delivery.registration.key))))
    }

    /// How many statements the writer runs meanwhile.
    private func statements(_ body: () async throws -> Void) async throws -> Int {
        let counter = Counter()
        try await store.write { db in try db.sqlite.trace { _ in counter.add() } }
        try await body()
        try await store.write { db in try db.sqlite.trace(nil) }
        return counter.value
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func add() { count.withLock { $0 += 1 } }
        var value: Int { count.withLock { $0 } }
    }

    @Test func aSingleSendTakesTwoStatementsToAcceptAndTwoToSettle() async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let keys = try await register(100).map(\.key)
        // The first ones make rows that others find: routes, sums, counters.
        _ = try await store.settle(try await accept(keys, by: worker).map { ended($0) }, by: worker)
        for (first, size) in [(100, 50), (200, 100)] {
            let claims = Mutex<[ClaimedDelivery]>([])
            let accepting = try await statements {
                let new = try await accept(Array(keys.prefix(size)), from: first, by: worker)
                claims.withLock { $0 = new }
            }
            let settlements = claims.withLock { $0 }.map { ended($0) }
            let settling = try await statements { _ = try await store.settle(settlements, by: worker) }
            // What a transaction takes, however many there are, is below 25.
            #expect(accepting <= 2 * size + 25 && settling <= 2 * size + 25, "\(accepting) \(settling) of \(size)")
        }
        #expect(try await store.check() == [])
    }

    @Test func nothingButTheMessageAndItsPlaceInABlockIsLeft() async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let claims = try await accept(try await register(20).map(\.key), by: worker)
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM pending") == ["0"])
        #expect(try await store.backlog()[.interactive] == 20)
        _ = try await store.settle(
            claims[..<15].map { ended($0) } + claims[15...].map { ended($0, .rejected) }, by: worker)
        for table in ["pending", "tally", "latency", "fan_out"] {
            #expect(try await store.lastColumn(of: "SELECT count(*) FROM \(table)") == ["0"])
        }
        #expect(try await store.lastColumn(of: "SELECT rows FROM ledger_block ORDER BY id") == ["15", "5"])
        #expect(try await store.lastColumn(of: "SELECT messages FROM project") == ["0"])
        let report = try #require(try await store.report(claims[17].message, in: project))
        #expect(report.state == .complete && report.ended[.rejected] == 1 && report.ended[.accepted] == 0)
        #expect(report.rejectedByReason == ["BadTopic": 1] && report.latency == nil && report.inFlight == 0)
        #expect(try await store.report(claims[3].message, in: project)?.latency != nil)
        #expect(try await store.check() == [])
    }

    @Test func whatAKilledRunHadClaimedIsClaimedAgain() async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let claims = try await accept(try await register(6).map(\.key), by: worker)
        let retry = Settlement(
            delivery: claims[1],
            result: .retry(AttemptHistory(attempts: 1, lastCause: "refused"), notBefore: Timestamp(milliseconds: 60)))
        _ = try await store.settle([ended(claims[0]), retry], by: worker)
        _ = try await store.control(
            claims[2].message, in: project, .pause, at: now, by: CredentialUse(id: CredentialUse.commandID))
        _ = try await store.control(
            claims[3].message, in: project, .cancel, at: now, by: CredentialUse(id: CredentialUse.commandID))
        try FileManager.default.createDirectory(atPath: directory.file("copy"), withIntermediateDirectories: true)
        for name in ["herald.db", "herald.db-wal"] {
            try FileManager.default.copyItem(
                atPath: directory.file("data/\(name)"), toPath: directory.file("copy/\(name)"))
        }
        let second = try Self.open(directory.file("copy"))
        #expect(try await second.takeOver(at: now) == 4)
        #expect(try await second.check() == [])
        #expect(try await second.bookCancelled(limit: 10, at: now) == 1)
        let next = try await second.enroll("second", for: .seconds(1000))
        let route = try #require(try await second.dueRoutes(.interactive, at: now).routes.first)
        let again = try await second.claimDue(.interactive, route, limit: 10, by: next, at: now)
        #expect(Set(again.map(\.message)) == Set([claims[1], claims[4], claims[5]].map(\.message)))
        for delivery in again where delivery.message != claims[1].message {
            #expect(delivery.history == AttemptHistory(interruptions: 1))
        }
        _ = try await second.settle(again.map { ended($0) }, by: next)
        #expect(try await second.check() == [])
        #expect(try await second.report(claims[4].message, in: project)?.state == .complete)
        #expect(try await second.report(claims[2].message, in: project)?.inFlight == 1)
    }

    @Test func aWorkerSettlesWhatItHasClaimedOnceAndNoOther() async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let other = try await store.enroll("other", for: .seconds(1000))
        let claims = try await accept(try await register(2).map(\.key), by: worker)
        #expect(try await store.settle([ended(claims[0])], by: other).refused == [claims[0].message])
        let result = try await store.settle([ended(claims[0]), ended(claims[0])], by: worker)
        #expect(result.complete == [claims[0].message] && result.refused == [claims[0].message])
        #expect(try await store.settle([ended(claims[0])], by: worker).refused == [claims[0].message])
        #expect(try await store.check() == [])
    }

    @Test func theLedgerOfARegistrationHasItsSinglesAndBroadcastsInOneOrder() async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let registration = try await register(1)[0]
        let topic = try #require(Topic(rawValue: "news"))
        _ = try await store.subscribe([registration.key], to: topic, at: Timestamp(milliseconds: 1))
        var expected: [MessageID] = []
        for round in 0..<3 {
            // Three of one block: a page may end between them.
            let claims = try await accept(
                Array(repeating: registration.key, count: 3), from: round * 10, by: worker)
            _ = try await store.settle(claims.map { ended($0) }, by: worker)
            expected = claims.map(\.message).reversed() + expected
            _ = try await store.accept([message(round * 10 + 5, .topic(topic), lane: .bulk)], claimedBy: nil)
            let shard = try #require(try await store.openFanOuts(limitPerProject: 1).first)
            let page = try await store.claimPage(of: shard.id, limit: 4, held: [], by: worker, at: now).page
            let deliveries = try #require(page).deliveries
            _ = try await store.settle(deliveries.map { ended($0) }, by: worker)
            expected = deliveries.map(\.message) + expected
        }
        for limit in [1, 2, 5, 12, 20] {
            var (found, cursor): ([MessageID], String?) = ([], nil)
            repeat {
                let page = try await store.deliveries(
                    to: registration.id, in: project, after: cursor, limit: limit)
                #expect(page.elements.count <= limit)
                found += page.elements.map(\.message)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(found == expected, "\(limit) at a time")
        }
    }

    @Test(arguments: [
        (
            "UPDATE message SET block = NULL WHERE seq = 2",
            ["ledger entries of messages that do not name their block: 1 (block 1)"]
        ),
        (
            "UPDATE ledger_block SET rows = 2 WHERE id = 1",
            ["ledger blocks that are not as their columns say: 1 (block 1)"]
        ),
        (
            "UPDATE ledger_block SET entries = x'00' WHERE id = 1",
            ["damaged ledger blocks: 4 (block 1"]
        ),
        (
            "INSERT INTO tally (message, outcome, reason, platform, count) VALUES (1, 'accepted', '', 0, 1)",
            ["messages whose sums of outcomes are not those of their ledger: 1"]
        ),
    ])
    func damageIsFound(sql: String, findings: [String]) async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let claims = try await accept(try await register(3).map(\.key), by: worker)
        _ = try await store.settle(claims.map { ended($0) }, by: worker)
        _ = try await store.lastColumn(of: sql)
        let found = try await store.check()
        for finding in findings { #expect(found.contains { $0.hasPrefix(finding) }, "\(found)") }
    }

    @Test func aSharedBlockLosesTheEntriesOfMessagesThatAreRemoved() async throws {
        let worker = try await store.enroll("test", for: .seconds(1000))
        let claims = try await accept(try await register(4).map(\.key), by: worker)
        _ = try await store.settle(claims.map { ended($0) }, by: worker)
        try await store.write { db in try LedgerBlockTable(db: db).remove([1, 3], from: 1) }
        let entries = try await store.write { db in
            try db.bytes("SELECT entries FROM ledger_block WHERE id = 1")
        }
        let block = try LedgerBlock(decoding: try #require(entries))
        #expect(
            block.messages == [2, 4]
                && block.entries.map(\.key) == [claims[1], claims[3]].map(\.registration.key.rawValue))
        try await store.write { db in try LedgerBlockTable(db: db).remove([2, 4], from: 1) }
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM ledger_block") == ["0"])
    }
}
