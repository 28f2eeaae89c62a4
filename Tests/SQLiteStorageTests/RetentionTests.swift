import Foundation
import GRDB
import Logging
import PushModel
import Store
import StoreConformance
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What is out of date goes in small steps, and the file gets smaller.
@Suite(.timeLimit(.minutes(5)))
struct RetentionTests {
    private static let project = ProjectID(rawValue: "demo")!
    private static let day: Int64 = 86_400_000
    private static let rules = RetentionRules(standard: RetentionPolicy(ledgerDays: 10, payloadDays: 5))

    private static func open(_ directory: TestDirectory) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    private static func register(_ number: Int, in store: SQLiteStore) async throws -> RegistrationKey {
        try await store.register(
            RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production), appVersion: nil),
            at: Timestamp(milliseconds: 0)
        ).registration.key
    }

    /// A message to a registration whose delivery ended at once.
    @discardableResult
    private static func deliver(
        to key: RegistrationKey, in store: SQLiteStore, by worker: WorkerID, at time: Int64, bytes: Int = 0
    ) async throws -> MessageID {
        let accepted = Timestamp(milliseconds: time)
        let message = NewMessage(
            id: MessageID(acceptedAt: accepted, random: .random(in: 0 ... .max)), project: project,
            recipient: .registration(key),
            content: PlainContent("{\"data\":{\"a\":\"\(String(repeating: "x", count: bytes))\"}}"), lane: .interactive,
            facts: MessageFacts(
                label: nil, isDisplayed: true, collapseKey: nil, priority: 10, timeToLiveSeconds: 3600),
            acceptedAt: accepted, expiresAt: accepted + .seconds(3600))
        guard case .accepted(_, let claims)? = try await store.accept([message], claimedBy: worker).first else {
            throw StoreError(.failed, "not accepted")
        }
        try await settle(claims, in: store, by: worker, at: time + 1)
        return message.id
    }

    private static func settle(
        _ claims: [ClaimedDelivery], in store: SQLiteStore, by worker: WorkerID, at time: Int64
    ) async throws {
        _ = try await store.settle(
            claims.map { claim in
                Settlement(
                    delivery: claim,
                    result: .ended(
                        LedgerEntry(
                            outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
                            time: Timestamp(milliseconds: time), latencyMilliseconds: 1,
                            pushID: PushID(message: claim.message, registration: claim.registration.key))))
            }, by: worker)
    }

    /// Runs a part to its end; the steps with what each removed.
    private static func steps(
        _ part: RetentionPart, in store: SQLiteStore, at day: Int64
    ) async throws -> [RetentionProgress] {
        var steps: [RetentionProgress] = []
        while steps.last?.isDone != true {
            steps.append(try await store.remove(part, by: rules, at: Timestamp(milliseconds: day * Self.day)))
        }
        return steps
    }

    @Test func aStepTakesAsManyRowsAsItsTimeAllows() {
        var size = StepSize()
        let first = size.rows
        size.adapt(to: .milliseconds(1), wasFull: true)
        #expect(size.rows > first)
        let grown = size.rows
        size.adapt(to: .milliseconds(4), wasFull: true)
        size.adapt(to: .milliseconds(1), wasFull: false)
        #expect(size.rows == grown)
        size.adapt(to: .milliseconds(6), wasFull: true)
        #expect(size.rows == grown / 2)
        for _ in 0..<20 { size.adapt(to: .milliseconds(6), wasFull: true) }
        #expect(size.rows == 1)
        for _ in 0..<100 { size.adapt(to: .zero, wasFull: true) }
        #expect(size.rows == StepSize.largest)
    }

    @Test func anEmptyStoreIsDoneAtOnce() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        for part in RetentionPart.allCases {
            #expect(try await Self.steps(part, in: store, at: 1000) == [RetentionProgress(count: 0, isDone: true)])
        }
        try store.close()
    }

    @Test func aLargeMessageGoesInStepsWhileItsReportIsWhole() async throws {
        let directory = try TestDirectory()
        var store = try Self.open(directory)
        let topic = Topic(rawValue: "news")!
        var keys: [RegistrationKey] = []
        for number in 0..<200 { keys.append(try await Self.register(number, in: store)) }
        _ = try await store.subscribe(keys, to: topic, at: Timestamp(milliseconds: 0))
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        let accepted = Timestamp(milliseconds: 1000)
        let message = NewMessage(
            id: MessageID(acceptedAt: accepted, random: 1), project: Self.project, recipient: .topic(topic),
            content: PlainContent("{}"), lane: .bulk,
            facts: MessageFacts(
                label: nil, isDisplayed: true, collapseKey: nil, priority: 5, timeToLiveSeconds: 3600),
            acceptedAt: accepted, expiresAt: accepted + .seconds(3600))
        _ = try await store.accept([message], claimedBy: nil)
        let fanOut = try #require(try await store.openFanOuts(limitPerProject: 1).first)
        while let page = try await store.claimPage(of: fanOut.id, limit: 50, held: [], by: worker, at: accepted).page {
            // A block for each delivery.
            for delivery in page.deliveries { try await Self.settle([delivery], in: store, by: worker, at: 2000) }
        }
        let now = Timestamp(milliseconds: 20 * Self.day)
        let first = try await store.remove(.messages, by: Self.rules, at: now)
        #expect(first == RetentionProgress(count: 0, isDone: false), "it has more blocks than a step takes")
        #expect(try await store.report(message.id, in: Self.project)?.ended[.accepted] == 200)
        #expect(try await store.check() == [])
        // A process that ends now goes on where it was.
        try store.close()
        store = try Self.open(directory)
        let rest = try await Self.steps(.messages, in: store, at: 20)
        #expect(rest.count > 2 && rest.reduce(0) { $0 + $1.count } == 1)
        #expect(try await store.report(message.id, in: Self.project) == nil)
        #expect(try await Self.steps(.days, in: store, at: 20).reduce(0) { $0 + $1.count } == 1)
        #expect(try await store.check() == [])
        for table in ["ledger_block", "ledger_hour", "tally", "latency", "fan_out", "message", "delivery_day"] {
            #expect(try await store.lastColumn(of: "SELECT count(*) FROM \(table)") == ["0"], "\(table)")
        }
        try store.close()
    }

    @Test func theFileGetsSmaller() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        #expect(try await store.lastColumn(of: "PRAGMA auto_vacuum") == ["2"])
        let key = try await Self.register(1, in: store)
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        for number in 0..<400 {
            try await Self.deliver(to: key, in: store, by: worker, at: 1000 + Int64(number), bytes: 3000)
        }
        let kept = try await Self.deliver(to: key, in: store, by: worker, at: 9 * Self.day, bytes: 3000)
        let full = try #require(Int(try await store.lastColumn(of: "PRAGMA page_count")[0]))
        #expect(try await Self.steps(.payloads, in: store, at: 7).reduce(0) { $0 + $1.count } == 400)
        let steps = try await Self.steps(.freePages, in: store, at: 7)
        #expect(steps.count > 1, "a step takes a few pages")
        let left = try #require(Int(try await store.lastColumn(of: "PRAGMA page_count")[0]))
        #expect(left < full / 2, "\(left) of \(full) pages")
        let free = try #require(Int(try await store.lastColumn(of: "PRAGMA freelist_count")[0]))
        #expect(free <= left / 10)
        #expect(try await store.message(kept, in: Self.project)?.body.isRemoved == false)
        #expect(try await store.check() == [])
        try store.close()
    }

    @Test func theRemovalOfAPayloadKeepsEveryOtherColumn() throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database)
        let columns = try database.read { db in try db.columns(in: "message").map(\.name) }
        let kept = PayloadRemoval.columns.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(Set(kept + ["source"]) == Set(columns) && kept.count + 1 == columns.count)
    }

    @Test func halfOfTheLedgerGoesAndTheRestBalances() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        let key = try await Self.register(1, in: store)
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        var messages: [MessageID] = []
        for number in 0..<200 {
            messages.append(
                try await Self.deliver(to: key, in: store, by: worker, at: Int64(number) * Self.day / 10 + 1000))
        }
        let removed = try await Self.steps(.messages, in: store, at: 20)
        #expect(removed.reduce(0) { $0 + $1.count } == 100)
        #expect(try await store.check() == [], "before the sums by day are gone")
        #expect(try await Self.steps(.days, in: store, at: 20).reduce(0) { $0 + $1.count } == 10)
        #expect(try await store.check() == [])
        let page = try await store.reports(in: Self.project, after: nil, limit: 1000)
        #expect(page.elements.map(\.message.id) == messages.suffix(100).reversed())
        try store.close()
    }

    /// Its damage is told until its last message goes; what else was in it can't be read anyway.
    @Test func aDamagedBlockStaysUntilItsLastMessageGoes() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        let key = try await Self.register(1, in: store)
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        let claims = try await store.accept(
            ([0, 1, 6] as [Int64]).map { day in
                let accepted = Timestamp(milliseconds: day * Self.day + 1000)
                return NewMessage(
                    id: MessageID(acceptedAt: accepted, random: 1), project: Self.project,
                    recipient: .registration(key), content: PlainContent(), lane: .interactive,
                    facts: MessageFacts(
                        label: nil, isDisplayed: true, collapseKey: nil, priority: 10, timeToLiveSeconds: 3600),
                    acceptedAt: accepted, expiresAt: accepted + .seconds(3600))
            }, claimedBy: worker
        ).flatMap { result -> [ClaimedDelivery] in if case .accepted(_, let claims) = result { claims } else { [] } }
        _ = try await store.settle(
            claims.map { claim in
                Settlement(
                    delivery: claim,
                    result: .ended(
                        LedgerEntry(
                            outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
                            time: claim.acceptedAt + .seconds(1), latencyMilliseconds: 1000,
                            pushID: PushID(message: claim.message, registration: key))))
            }, by: worker)
        _ = try await store.lastColumn(of: "UPDATE ledger_block SET entries = x'00'")
        #expect(try await Self.steps(.messages, in: store, at: 12).reduce(0) { $0 + $1.count } == 2)
        #expect(try await store.lastColumn(of: "SELECT rows FROM ledger_block") == ["1"])
        #expect(try await store.check().contains { $0.hasPrefix("damaged ledger blocks") })
        #expect(try await Self.steps(.messages, in: store, at: 17).reduce(0) { $0 + $1.count } == 1)
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM ledger_block") == ["0"])
        #expect(try await !store.check().contains { $0.hasPrefix("damaged ledger blocks") })
        try store.close()
    }

    /// Every table says in the article how long its rows live.
    @Test func theArticleNamesEveryTable() throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database)
        let tables = try database.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                        AND name <> 'grdb_migrations'
                    """)
        }
        let article = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/herald/herald.docc/Operations.md")
        let text = try String(contentsOf: article, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## What is kept how long").dropFirst().first)
        let rows = try #require(section.components(separatedBy: "\n## ").first).split(separator: "\n")
            .filter { $0.hasPrefix("|") }.map { $0.split(separator: "|").first.map(String.init) ?? "" }
        let named = rows.flatMap { row in row.matches(of: /`([a-z_]+)`/).map { String($0.1) } }
        #expect(Set(tables).subtracting(named).sorted() == [], "missing in the article")
        #expect(Set(named).subtracting(tables).sorted() == [], "in the article only")
        #expect(named.count == Set(named).count, "a table is there twice")
    }
}
