import Foundation
import GRDB
import Logging
import PushModel
import TestSupport
import Testing

@testable import Store

/// A store of any earlier version opens with everything that was in it.
@Suite(.timeLimit(.minutes(5)))
struct MigrationTests {
    private let directory: TestDirectory
    private let time = Timestamp(milliseconds: 9000)

    init() throws {
        directory = try TestDirectory()
    }

    @Test(arguments: Schema.versions.dropLast())
    func aStoreOfAnEarlierVersionGoesOn(version: String) async throws {
        try makeStore(of: version)
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        #expect(try await store.check() == [])
        let project = try #require(ProjectID(rawValue: "demo"))
        let token = try #require(RegistrationToken(rawValue: "cAAAAAAAAAAAAAAAAAAAAA:APA91b_x"))
        let kept = try #require(try await store.registration(token: token, in: project))
        #expect(kept.isActive && kept.deviceToken.bytes == [0xd7, 1])
        #expect(kept.createdAt.milliseconds == 5 && kept.refreshedAt.milliseconds == 6)
        #expect(!kept.isProven && kept.quarantine == nil, "of what was accepted before nothing is known")

        // Its work is done by the new rules.
        let due = try await store.claimDue(.interactive, limit: 9, at: time)
        let claim = try #require(due.first)
        #expect(due.count == 1 && claim.registration == kept)
        #expect(claim.history.attempts == 2 && claim.history.lastCause == "connect_failed")
        let entry = LedgerEntry(
            outcome: .accepted, reason: nil, verdict: .proven(in: .production), history: claim.history, time: time,
            latencyMilliseconds: 1, apnsID: APNSID(message: claim.message, registration: kept.key))
        #expect(try await store.settle([Settlement(delivery: claim, result: .ended(entry))]) == [claim.message])
        #expect(try await store.registration(token: token, in: project)?.provenAt == time)
        #expect(try await store.check() == [])
    }

    /// Makes a store as this version left it: a registration, and a message to it that waits for its third attempt.
    private func makeStore(of version: String) throws {
        let files = StoreDirectory(path: directory.path)
        try files.prepare()
        let pool = try DatabasePool(path: files.databasePath)
        try Schema.migrator.migrate(pool, upTo: version)
        try pool.write { db in
            try db.execute(
                sql: """
                    INSERT INTO registration (fid, token, project, app, device_token, environment, created_at,
                        refreshed_at)
                    VALUES ('cAAAAAAAAAAAAAAAAAAAAA', 'cAAAAAAAAAAAAAAAAAAAAA:APA91b_x', 'demo', 'com.example.app',
                        x'd701', 'production', 5, 6);
                    INSERT INTO message (id, project, registration, audience, source, is_displayed, priority,
                        time_to_live, lane, state, accepted_at, expires_at)
                    VALUES ('0:1-a', 'demo', 1, 1, '{}', 0, 10, 60, 0, 'ACTIVE', 7, 60007);
                    INSERT INTO pending (message, registration, lane, not_before, attempts, last_cause)
                    VALUES (1, 1, 0, 8, 2, 'connect_failed');
                    """)
        }
        try pool.close()
    }
}
