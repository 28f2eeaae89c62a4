import Foundation
import GRDB
import Logging
import PushModel
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import SQLiteStorage

/// The ledger of rows that version 3 wrote becomes blocks that hold the same.
@Suite(.timeLimit(.minutes(5)))
struct LedgerMigrationTests {
    private struct Row: Hashable {
        let registration: Int64
        let outcome: String
        let reason: String?
        let attempts: Int64
        let unknownAttempts: Int64
        let endedAt: Int64
        let recordedAt: Int64
        let latency: Int64
    }

    private let directory: TestDirectory
    private let project = ProjectID(rawValue: "demo")!

    init() throws {
        directory = try TestDirectory()
    }

    /// Message 1 went to a topic of 5,000, message 2 to one registration with an apns-id of the sender's. Registration
    /// 5,001 is gone.
    private func rows() -> [(message: Int64, row: Row)] {
        var rows: [(Int64, Row)] = []
        for number in 0..<5000 as Range<Int64> {
            let outcome = number % 50 == 0 ? "rejected" : number % 77 == 0 ? "expired" : "accepted"
            let recorded = 10_000 + number / 2500 * 3_600_000 + number % 2500 / 1200
            rows.append(
                (
                    1,
                    Row(
                        // Not in the order of keys.
                        registration: number * 7 % 5000 + 1, outcome: outcome,
                        reason: outcome == "accepted" ? nil : "Reason\(number % 3)", attempts: number % 4 + 1,
                        unknownAttempts: number % 2, endedAt: recorded - number % 100, recordedAt: recorded,
                        latency: number % 300)
                ))
        }
        rows.append(
            (
                2,
                Row(
                    registration: 5001, outcome: "accepted", reason: nil, attempts: 1, unknownAttempts: 0, endedAt: 9,
                    recordedAt: 99_000_000, latency: 2)
            ))
        return rows
    }

    private func makeStore() throws {
        let files = StoreDirectory(path: directory.path)
        try files.prepare()
        let pool = try DatabasePool(path: files.databasePath)
        try Schema.migrator.migrate(pool, upTo: "3")
        try pool.write { db in
            try makeWork(db)
            for (message, row) in rows() { try insert(row, of: message, db) }
            try db.execute(
                sql: """
                    INSERT INTO tally SELECT message, outcome, ifnull(reason, ''), count(*) FROM ledger GROUP BY 1, 2, 3;
                    INSERT INTO ledger_hour SELECT project, recorded_at / 3600000, min(id), max(id) FROM ledger GROUP BY 1, 2;
                    UPDATE meta SET value = 99000000 WHERE name = 'ledger_clock';
                    """)
            var latencies: [[Int64]: Int] = [:]
            for (message, row) in rows() where row.outcome == "accepted" {
                latencies[[message, Int64(LatencyHistogram.bucket(forMilliseconds: row.latency))], default: 0] += 1
            }
            for (key, count) in latencies {
                try db.execute(sql: "INSERT INTO latency VALUES (?, ?, ?)", arguments: [key[0], key[1], count])
            }
        }
        // Receipts came with version 8; one is of the registration that is gone, one of another kind.
        try Schema.migrator.migrate(pool, upTo: "8")
        try pool.write { db in
            try db.execute(
                sql: """
                    INSERT INTO receipt (message, registration, kind, project, time, recorded_at)
                    VALUES (1, 1, 0, 'demo', 9, 1 << 41), (1, 2, 0, 'demo', 9, 1 << 41), (1, 2, 1, 'demo', 9, 1 << 41),
                        (2, 5001, 0, 'demo', 9, 1 << 41);
                    INSERT INTO receipt_tally (message, kind, count) VALUES (1, 0, 2), (1, 1, 1), (2, 0, 1);
                    """)
        }
        try pool.close()
    }

    private func makeWork(_ db: Database) throws {
        for key in 1...5000 {
            try db.execute(
                sql: """
                    INSERT INTO registration (key, fid, token, project, app, device_token, environment, created_at,
                        refreshed_at)
                    VALUES (?, ?, ?, 'demo', 'com.example.app', ?, 'production', 5, 6)
                    """, arguments: [key, fid(Int64(key)), "\(fid(Int64(key))):x", Data("\(key)".utf8)])
        }
        try db.execute(
            sql: """
                INSERT INTO topic (id, project, name) VALUES (1, 'demo', 'news');
                INSERT INTO message (id, project, registration, topic, audience, source, apns_id, is_displayed,
                    priority, time_to_live, lane, state, accepted_at, expires_at, completed_at)
                VALUES ('0:1-a', 'demo', NULL, 1, 5000, '{}', NULL, 0, 10, 60, 1, 'COMPLETE', 7, 60007, 8),
                    ('0:1-b', 'demo', 5000, NULL, 1, '{}', '6c4f6b60-1f4c-4a52-9c1e-2a3b4c5d6e7f', 0, 10, 60, 0,
                    'COMPLETE', 7, 60007, 9);
                INSERT INTO fan_out (message, shard, topic, last_subscription, after_key, last_key, expected, claimed,
                    served, done)
                VALUES (1, 0, 1, 0, 5000, 5000, 5000, 5000, 1, 1);
                """)
    }

    private func fid(_ key: Int64) -> String {
        let digits = String(key)
        return "c" + String(repeating: "A", count: 21 - digits.count) + digits
    }

    private func insert(_ row: Row, of message: Int64, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO ledger (project, message, registration, fid, app, ended_at, recorded_at, outcome, reason,
                    attempts, unknown_attempts, latency_ms, apns_id)
                VALUES ('demo', ?, ?, ?, 'com.example.app', ?, ?, ?, ?, ?, ?, ?, '6c4f6b60-1f4c-4a52-9c1e-2a3b4c5d6e7f')
                """,
            arguments: [
                message, row.registration, fid(row.registration), row.endedAt, row.recordedAt, row.outcome, row.reason,
                row.attempts, row.unknownAttempts, row.latency,
            ])
    }

    private func export(_ store: SQLiteStore, _ times: Range<Int64>) async throws -> [ExportRow] {
        var rows: [ExportRow] = []
        var cursor: String?
        repeat {
            let page = try await store.export(
                project: project, from: Timestamp(milliseconds: times.lowerBound),
                to: Timestamp(milliseconds: times.upperBound), at: Timestamp(milliseconds: 1 << 40), after: cursor,
                limit: 700)
            rows += page.elements
            cursor = page.nextCursor
        } while cursor != nil
        return rows
    }

    @Test func blocksHoldWhatTheRowsHeld() async throws {
        try makeStore()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        #expect(try await store.check() == [])
        let tables = try await store.lastColumn(of: "SELECT name FROM sqlite_schema WHERE name LIKE 'ledger%'")
        #expect(!tables.contains("ledger") && tables.contains("ledger_block"))
        #expect(try await store.lastColumn(of: "SELECT fid FROM former_registration") == [fid(5001)])
        #expect(
            try await store.lastColumn(of: "SELECT max(rows) <= 2000 AND sum(rows) = 5001 FROM ledger_block") == ["1"])

        #expect(
            try await store.lastColumn(of: "SELECT sum(count) FROM delivery_day WHERE day = 0 AND label = ''")
                == ["5001"])
        #expect(
            try await store.lastColumn(of: "SELECT count FROM received_day WHERE day = 0 AND label = ''") == ["3"])

        // Each window of recording holds what it held, to the millisecond.
        let old = rows()
        let ids = [1: "0:1-a", 2: "0:1-b"] as [Int64: String]
        for time in Set(old.map(\.row.recordedAt)).sorted() {
            let now = try await export(store, time..<time + 1)
            #expect(Set(now.map { Content($0) }).count == now.count)
            #expect(
                Set(now.map { Content($0) })
                    == Set(old.filter { $0.row.recordedAt == time }.map { Content($0.row, ids[$0.message]!, fid) }))
        }
        let all = try await export(store, 0..<1 << 40)
        #expect(all.count == 5001)
        let message = MessageID(rawValue: "0:1-a")!
        #expect(all.dropLast().allSatisfy { $0.message == message && $0.topic?.rawValue == "news" && $0.bulkID == 1 })
        let key = RegistrationKey(rawValue: 4711)
        #expect(
            all.first { $0.delivery.registration.rawValue == fid(4711) }?.delivery.apnsID
                == APNSID(message: message, registration: key))
        #expect(
            all.last?.bulkID == nil && all.last?.delivery.apnsID?.rawValue == "6c4f6b60-1f4c-4a52-9c1e-2a3b4c5d6e7f")
    }

    /// What an entry says, whichever way it is kept.
    private struct Content: Hashable {
        let message: String
        let fid: String
        let outcome: String?
        let reason: String?
        let attempts: Int
        let unknownAttempts: Int
        let endedAt: Int64?
        let latency: Int64?

        init(_ row: ExportRow) {
            message = row.message.rawValue
            fid = row.delivery.registration.rawValue
            outcome = row.delivery.outcome?.rawValue
            reason = row.delivery.reason
            attempts = row.delivery.history.attempts
            unknownAttempts = row.delivery.history.unknownAttempts
            endedAt = row.delivery.endedAt?.milliseconds
            latency = row.delivery.latencyMilliseconds
        }

        init(_ row: Row, _ message: String, _ fid: (Int64) -> String) {
            self.message = message
            self.fid = fid(row.registration)
            outcome = row.outcome
            reason = row.reason
            attempts = Int(row.attempts)
            unknownAttempts = Int(row.unknownAttempts)
            endedAt = row.endedAt
            latency = row.latency
        }
    }
}
