import Foundation
import GRDB
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What is wrong with the ledger is found and named, and what purged registrations leave behind is enough to read it.
@Suite(.timeLimit(.minutes(5)))
struct LedgerCheckTests {
    private let directory: TestDirectory
    private let store: SQLiteStore
    private let project = ProjectID(rawValue: "demo")!

    init() throws {
        directory = try TestDirectory()
        store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    @Test func keysAreMarkedInTheirRange() {
        var marks = KeyMarks(base: 10, span: 10_000)
        for key: Int64 in [10, 4105, 4106, 10_009, 73, 74, 10, 4106] { marks.add(key) }
        #expect(marks.repeated == 2)
        #expect(marks.further.isEmpty)
        for key: Int64 in [9, 10_010, -9_990, -9_991] { marks.add(key) }
        #expect(marks.further == [-2, -1, 1])
        #expect(marks.repeated == 2)
        var before = KeyMarks(base: 10, span: 10_000, range: -1)
        for key: Int64 in [9, -9_990, 9, 10] { before.add(key) }
        #expect(before.repeated == 1)
        #expect(before.further == [0])
        #expect(before.overlaps(-20_000, -9_990) && before.overlaps(9, 9) && !before.overlaps(10, 20))
    }

    /// A complete broadcast to `keys`, a block for each list of keys.
    @discardableResult
    private func broadcast(_ blocks: [[Int64]], outcome: LedgerOutcome = .accepted) async throws -> Int64 {
        try await store.write { [project] db in
            try db.change(
                "INSERT OR IGNORE INTO app (id, project, name, platform) VALUES (1, 'demo', 'com.example.app', 0)")
            for key in blocks.joined() {
                try db.change(
                    """
                    INSERT OR IGNORE INTO registration (key, fid, token, app, address, channel,
                        created_at, refreshed_at)
                    VALUES (?1, ?2, ?2, 1, ?3, 0, 5, 6)
                    """, [key, Self.fid(key), Array("\(key)".utf8)])
            }
            try db.sqlite.execute(
                sql: """
                    INSERT INTO project (name, registrations) VALUES ('demo', (
                            SELECT count(*) FROM registration r JOIN app a ON a.id = r.app
                            WHERE a.project = 'demo' AND r.ended_at IS NULL))
                        ON CONFLICT (name) DO UPDATE SET registrations = excluded.registrations;
                    INSERT OR IGNORE INTO topic (id, project, name) VALUES (1, 'demo', 'news');
                    INSERT OR IGNORE INTO route (id, project, app, channel)
                    VALUES (1, 'demo', 'com.example.app', 0);
                    """)
            let count = blocks.joined().count
            try db.change(
                """
                INSERT INTO message (id, project, topic, audience, singles, bytes, collapses_repeats, source, is_displayed, priority, time_to_live,
                    lane, state, accepted_at, expires_at, completed_at)
                VALUES (CAST('0:' || (SELECT count(*) FROM message) AS BLOB), 'demo', 1, ?, 0, 2, 1, '{}', 0, 10, 60, 1, 'COMPLETE', 7, 60007, 8)
                """, [count])
            let message = try db.sqlite.lastInsertedRowID
            try db.change(
                """
                INSERT INTO fan_out (message, shard, project, last_subscription, after_key, last_key, expected,
                    claimed, done, is_open)
                VALUES (?, 0, 'demo', 1, 0, 1, ?, ?, 1, 0)
                """, [message, count, count])
            for keys in blocks {
                let time = try LedgerClock(db: db).advance(to: Timestamp(milliseconds: 5_000_000))
                var writer = LedgerWriter(db: db, recordedAt: time)
                for key in keys {
                    writer.append(
                        Self.entry(outcome),
                        of: LedgerWriter.Source(
                            message: message, project: project,
                            kind: DeliveryDaySums.Kind(acceptedAt: 7, label: nil, isDisplayed: false)),
                        key: RegistrationKey(rawValue: key), app: nil)
                }
                var events = SettledEvents()
                try writer.write(&events) { try AppTable(db: db).id($0, $1) }
            }
            return message
        }
    }

    private static func entry(_ outcome: LedgerOutcome) -> LedgerEntry {
        LedgerEntry(
            outcome: outcome, reason: outcome == .accepted ? nil : "BadTopic", verdict: nil,
            history: AttemptHistory(attempts: 1), time: Timestamp(milliseconds: 4000), latencyMilliseconds: 30,
            pushID: PushID(rawValue: "6c4f6b60-1f4c-4a52-9c1e-2a3b4c5d6e7f")!)
    }

    private static func fid(_ key: Int64) -> String {
        let digits = String(key)
        return "c" + String(repeating: "A", count: 21 - digits.count) + digits
    }

    /// Apps are not looked up entry by entry: neither where one app is all there is, also of registrations that are gone,
    /// nor where there are several.
    @Test(arguments: [false, true])
    func theAppsOfABlockAreReadTogether(hasOther: Bool) async throws {
        try await broadcast([Array(1...1000)])
        let name = hasOther ? "com.example.other" : "com.example.app"
        let (counts, statements) = try await store.write { db in
            if hasOther {
                try db.change("INSERT INTO app (project, name, platform) VALUES ('demo', ?, 0)", [name])
            }
            try db.change(
                """
                INSERT INTO former_registration (key, fid, app, last_message)
                    SELECT column1, column2, app.id, 9 FROM (VALUES (3, 'x'), (2000, 'y')), app WHERE app.name = ?1
                """, [name])
            try db.change("DELETE FROM registration WHERE key IN (3, 4)")
            try db.change("DELETE FROM former_registration WHERE key = 4")
            let entries = try #require(try db.bytes("SELECT entries FROM ledger_block"))
            let block = try LedgerBlock(decoding: entries)
            let statements = Mutex(0)
            let kind = DeliveryDaySums.Kind(acceptedAt: 7, label: nil, isDisplayed: false)
            var (apps, sums) = (KeyApps(db: db), DeliveryDaySums())
            try db.sqlite.trace { _ in statements.withLock { $0 += 1 } }
            try apps.read(block, in: "demo")
            try sums.add(block, kind, project: "demo", &apps)
            try db.sqlite.trace(nil)
            return (sums.counts.values.sorted(), statements.withLock { $0 })
        }
        #expect(counts == (hasOther ? [1, 998] : [1000]))
        #expect(statements < 10)
    }

    @Test func aWholeLedgerHasNoFindings() async throws {
        try await broadcast([[1, 2, 3], [900, 5], [4]])
        try await broadcast([Array(1...5000).shuffled()], outcome: .rejected)
        #expect(try await store.check() == [])
        // A step of many entries of one message becomes several blocks of limited size.
        #expect(
            try await store.lastColumn(of: "SELECT rows FROM ledger_block WHERE message = 2") == [
                "2000", "2000", "1000",
            ])
    }

    @Test(arguments: [
        (
            "UPDATE ledger_block SET entries = zeroblob(length(entries)) WHERE id = 2",
            "damaged ledger blocks: 1 (block 2 of 0:0)"
        ),
        ("UPDATE ledger_block SET entries = x'' WHERE id = 2", "damaged ledger blocks: 1 (block 2 of 0:0)"),
        (
            "UPDATE ledger_block SET last_key = 7 WHERE id = 1",
            "ledger blocks that are not as their columns say: 1 (block 1 of 0:0)"
        ),
        (
            "UPDATE ledger_block SET rows = 2 WHERE id = 1",
            "ledger blocks that are not as their columns say: 1 (block 1 of 0:0)"
        ),
        (
            "UPDATE ledger_block SET outcomes = 2 WHERE id = 1",
            "ledger blocks that are not as their columns say: 1 (block 1 of 0:0)"
        ),
        (
            "UPDATE ledger_block SET project = 'other' WHERE id = 1",
            "ledger blocks that are not as their columns say: 1 (block 1 of 0:0)"
        ),
        (
            "UPDATE tally SET reason = 'x'",
            "messages whose sums of outcomes are not those of their ledger: 1 (0:0)"
        ),
        (
            "UPDATE tally SET platform = 2",
            "messages whose sums of outcomes are not those of their ledger: 1 (0:0)"
        ),
        (
            "UPDATE tally SET count = 4",
            "messages whose recipients are not the sum of ended and open deliveries: 1 (0:0)"
        ),
        (
            "UPDATE latency SET bucket = 31",
            "messages whose latencies are not those of their accepted deliveries: 1 (0:0)"
        ),
        (
            "UPDATE fan_out SET claimed = 6",
            "messages whose recipients are not the sum of ended and open deliveries: 1 (0:0)"
        ),
        (
            "INSERT INTO pending (message, registration, lane, route, not_before) VALUES (1, 9, 1, 1, 0)",
            "deliveries that are open and ended, or open twice: 1 (0:0)"
        ),
        ("UPDATE delivery_day SET count = 4", "sums by day that are not those of the ledger: 1"),
        ("UPDATE delivery_day SET label = 'x'", "sums by day that are not those of the ledger: 2"),
        ("DELETE FROM delivery_day", "sums by day that are not those of the ledger: 1"),
        (
            "INSERT INTO receipt (message, registration, kind, project, time, recorded_at) VALUES (1, 1, 0, 'demo', 1, 1)",
            "sums of receipts that are not those of the receipts: 1"
        ),
        (
            "INSERT INTO receipt_tally (message, kind, count) VALUES (1, 2, 3)",
            "sums of receipts that are not those of the receipts: 1"
        ),
        (
            "INSERT INTO receipt (message, registration, kind, project, time, recorded_at) VALUES (1, 1, 0, 'demo', 1, 1)",
            "sums of receipts by day that are not those of the receipts: 1"
        ),
        (
            "INSERT INTO received_day (app, day, label, count) VALUES (1, 0, 'x', 3)",
            "sums of receipts by day that are not those of the receipts: 1"
        ),
        (
            "INSERT INTO receipt_tally (message, kind, count) VALUES (99, 2, 3)",
            "receipts or links of messages that are not there: 1"
        ),
        (
            """
            INSERT INTO ended_single (seq, id, project, kind, registration, accepted_at, time_to_live, took, block)
                VALUES (99, x'ff', 1, 1, 1, 7, 60, 1, 1)
            """,
            "messages that are kept twice, or without their kind: 1"
        ),
        ("UPDATE ledger_hour SET last_id = 1", "ledger blocks outside of the bounds of their hour: 1"),
        (
            "UPDATE ledger_block SET recorded_at = recorded_at - 1 WHERE id = 2",
            "ledger blocks recorded before the one before them, or after the clock of the ledger: 1"
        ),
    ])
    func whatIsWrongIsNamed(damage: String, finding: String) async throws {
        try await broadcast([[1, 2, 3], [9, 40]])
        #expect(try await store.check() == [])
        _ = try await store.lastColumn(of: damage)
        let findings = try await store.check()
        #expect(findings.contains(finding), "\(findings)")
    }

    @Test func aDeliveryThatEndedTwiceIsFoundWhereverItsBlocksAre() async throws {
        let message = try await broadcast([[1, 2, 3], [64, 65, 200], [3, 201], [65, 7]])
        let expected = ["deliveries that ended twice: 2 (0:0)"]
        #expect(try await store.check() == expected)
        // In ranges of any size: 3 and 65 are each found once.
        for span in [1, 2, 64, 100, 1000] as [Int64] {
            let findings = try await store.read { db in
                let row = try #require(try db.row(LedgerRecount.messages, [message - 1]))
                var recount = try LedgerRecount(db: db, row: row)
                return try recount.run(span: span).findings.sentences
            }
            #expect(findings.first?.hasPrefix("deliveries that ended twice: 2") == true, "\(span): \(findings)")
        }
    }

    @Test func twiceInOneStepIsRefusedAndNothingOfItIsWritten() async throws {
        await #expect(throws: StoreError.self) { try await broadcast([[1, 2, 1]]) }
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM ledger_block") == ["0"])
        #expect(try await store.check() == [])
    }

    @Test func theCheckSaysHowFarItIs() async throws {
        for _ in 0..<3 { try await broadcast([[1]]) }
        let seen = Mutex<[[Int]]>([])
        #expect(try await store.check { done, total in seen.withLock { $0.append([done, total]) } } == [])
        let calls = seen.withLock { $0 }
        #expect(calls.first == [0, 3] && calls.last == [3, 3])
    }

    @Test func aPurgedRegistrationKeepsItsNameInTheLedger() async throws {
        let message = MessageID(rawValue: "0:0")!
        try await broadcast([[3, 1], [2]])
        _ = try await store.lastColumn(
            of: "INSERT INTO former_registration SELECT key, fid, app, 9 FROM registration WHERE key = 3")
        _ = try await store.lastColumn(of: "DELETE FROM registration WHERE key = 3")
        let listed = try await store.deliveries(of: message, in: project, outcome: nil, after: nil, limit: 9)
        #expect(listed.elements.map(\.registration.rawValue) == [1, 3, 2].map(Self.fid))
        #expect(listed.elements.map(\.app.id.rawValue) == Array(repeating: "com.example.app", count: 3))
        let rows = try await store.export(
            project: project, from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 1 << 40),
            at: Timestamp(milliseconds: 1 << 40), after: nil, limit: 2)
        #expect(rows.elements.map(\.delivery.registration.rawValue) == [1, 3].map(Self.fid))
        #expect(try await store.check() == [])
        // With a second app each registration is looked at, also the one that is gone.
        _ = try await store.lastColumn(
            of: "INSERT INTO app (project, name, platform) VALUES ('demo', 'com.example.second', 0)")
        #expect(try await store.check() == [])
        try await broadcast([[1, 2]])
        #expect(try await store.check() == [])
        let days = try await store.deliveryDays(
            of: AppID(rawValue: "com.example.app")!, on: nil, in: project, after: nil, limit: 9)
        #expect(days.elements.map(\.recipients) == [5])
    }

    @Test func anErrorNamesTheDamagedBlock() async throws {
        try await broadcast([[1, 3], [2]])
        _ = try await store.lastColumn(of: "UPDATE ledger_block SET entries = x'01' WHERE id = 2")
        let error = await #expect(throws: StoreError.self) {
            _ = try await store.deliveries(
                of: MessageID(rawValue: "0:0")!, in: project, outcome: nil, after: nil, limit: 9)
        }
        #expect(error?.code == .failed && error?.message.contains("block 2") == true)
        // The rest can still be read.
        let first = try await store.deliveries(
            of: MessageID(rawValue: "0:0")!, in: project, outcome: nil, after: nil, limit: 1)
        #expect(first.elements.map(\.registration.rawValue) == [Self.fid(1)])
    }

    @Test func theLedgerOfADeviceGoesOnAcrossCallsThatFindNothing() async throws {
        try await broadcast([[7]])
        // More blocks whose range holds the key than one call unpacks, none with the key.
        for _ in 0..<3 {
            try await broadcast((0..<300).map { [1, 100 + Int64($0)] })
        }
        var cursor: String?
        var calls = 0
        var found: [ExportRow] = []
        repeat {
            let page = try await store.deliveries(
                to: RegistrationID(rawValue: Self.fid(7))!, in: project, after: cursor, limit: 5)
            found += page.elements
            cursor = page.nextCursor
            calls += 1
        } while cursor != nil && calls < 10
        #expect(found.map(\.message.rawValue) == ["0:0"] && calls > 1 && cursor == nil)
    }
}
