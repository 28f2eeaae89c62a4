import Foundation
import GRDB
import Logging
import PushModel
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import SQLiteStorage

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
        try makeStore(of: version, with: Self.others)
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        #expect(try await store.check() == [])
        let project = try #require(ProjectID(rawValue: "demo"))
        let token = try #require(RegistrationToken(rawValue: "cAAAAAAAAAAAAAAAAAAAAA:APA91b_x"))
        let kept = try #require(try await store.registration(token: token, in: project))
        #expect(kept.isActive && kept.deviceToken.bytes == [0xd7, 1])
        #expect(kept.createdAt.milliseconds == 5 && kept.refreshedAt.milliseconds == 6)
        #expect(!kept.isProven && kept.quarantine == nil, "of what was accepted before nothing is known")

        // Its work is done by the new rules.
        let worker = try await store.enroll("new", until: time)
        #expect(try await store.takeOver(at: time) == 0)
        let routes = try await store.dueRoutes(.interactive, at: time).routes
        let route = PushRoute(project: project, app: kept.app, environment: .production)
        #expect(routes == [route])
        let due = try await store.claimDue(.interactive, route, limit: 9, by: worker, at: time)
        let claim = try #require(due.first)
        #expect(due.count == 1 && claim.registration == DeliveryRegistration(kept))
        #expect(claim.history.attempts == 2 && claim.history.lastCause == "connect_failed")
        let entry = LedgerEntry(
            outcome: .accepted, reason: nil, verdict: .proven(in: .production), history: claim.history, time: time,
            latencyMilliseconds: 1, apnsID: APNSID(message: claim.message, registration: kept.key))
        #expect(
            try await store.settle([Settlement(delivery: claim, result: .ended(entry))], by: worker)
                == SettleResult(complete: [claim.message]))
        #expect(try await store.registration(token: token, in: project)?.provenAt == time)
        #expect(try await store.check() == [])

        // Keys stay, those of registrations that are gone too: none is used twice.
        #expect(kept.key.rawValue == 1 && kept.user == nil)
        let foreign = try #require(RegistrationToken(rawValue: "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZ"))
        let other = try #require(try await store.registration(token: foreign, in: project))
        #expect(other.key.rawValue == 4 && other.environment == .sandbox && other.appVersion == "1.2")
        #expect(other.end == RegistrationEnd(time: Timestamp(milliseconds: 9), cause: .deleted))
        let news = try #require(Topic(rawValue: "news"))
        #expect(try await store.subscription(of: kept.key, to: news)?.createdAt.milliseconds == 8)
        let again = try await store.subscribe([kept.key], to: news, at: time)
        #expect(again == [.existed(Subscription(topic: news, createdAt: Timestamp(milliseconds: 8)))])
        let topics = try await store.topics(in: project, beginningWith: "", after: nil, limit: 100)
        let another = try #require(Topic(rawValue: "another"))
        #expect(
            try await store.subscribe([kept.key], to: another, at: time, topicLimit: topics.count) == [.noNewTopic],
            "the topics of before are counted")
        let app = try #require(AppID(rawValue: "com.example.app"))
        let request = RegistrationRequest(
            project: project, app: app, deviceToken: kept.deviceToken, environment: .production, appVersion: nil)
        #expect(try await store.register(request, at: time).registration.key == kept.key)
        var fresh = request
        fresh.deviceToken = try #require(DeviceToken(bytes: [1, 2, 3]))
        let made = try await store.register(fresh, at: time).registration
        #expect(made.key.rawValue == 8)
        _ = try await store.subscribe([made.key], to: news, at: time)
        #expect(try await store.check() == [])
    }

    @Test func registrationsOfInstallationsAreBoundAndBlankUsersGo() async throws {
        let files = StoreDirectory(path: directory.path)
        try files.prepare()
        let pool = try DatabasePool(path: files.databasePath)
        try Schema.migrator.migrate(pool, upTo: "9")
        try await pool.write { db in
            try db.execute(
                sql: """
                    INSERT INTO app (id, project, name) VALUES (1, 'demo', 'com.example.app');
                    INSERT INTO registration (key, fid, token, app, device_token, environment, user, created_at,
                        refreshed_at)
                    VALUES (1, 'cAAAAAAAAAAAAAAAAAAAAA', zeroblob(24), 1, x'd701', 0, 'alice', 5, 6),
                        (2, 'dAAAAAAAAAAAAAAAAAAAAA', zeroblob(24), 1, x'd702', 0, ' ' || char(160, 12288), 5, 6);
                    INSERT INTO installation (project, fid, app, refresh_digest, registration, created_at, used_at)
                    VALUES ('demo', 'cAAAAAAAAAAAAAAAAAAAAA', 'a', zeroblob(32), 1, 1, 1),
                        ('demo', 'eAAAAAAAAAAAAAAAAAAAAA', 'a', zeroblob(32), NULL, 1, 1);
                    INSERT INTO registration_audit (app, time, cause, registration, former, user, former_user)
                    VALUES (1, 7, 'user_changed', 'cAAAAAAAAAAAAAAAAAAAAA', 'fAAAAAAAAAAAAAAAAAAAAA', 'alice', ' ');
                    """)
        }
        try pool.close()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        let project = try #require(ProjectID(rawValue: "demo"))
        let id = try #require(RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA"))
        let found = try await store.registrations(in: project, .active, after: nil, limit: 9).elements
        #expect(found.map(\.isBound) == [true, false] && found.map(\.user) == [UserID(rawValue: "alice"), nil])
        let entry = try #require(try await store.audit(of: id, in: project, limit: 9).first)
        #expect(entry.user == found.first?.user && entry.formerUser == nil && entry.credential == nil)
    }

    /// Makes a store as this version left it: a registration, and a message to it that waits for its third attempt.
    ///
    /// What versions after 4 hold was written by 4: they brought new tables, or took over what was there.
    private func makeStore(of version: String, with others: String = "") throws {
        let files = StoreDirectory(path: directory.path)
        try files.prepare()
        let pool = try DatabasePool(path: files.databasePath)
        let writer = ["1", "2", "3"].contains(version) ? version : "4"
        try Schema.migrator.migrate(pool, upTo: writer)
        try pool.write { db in
            try db.execute(
                sql: """
                    INSERT INTO registration (fid, token, project, app, device_token, environment, created_at,
                        refreshed_at)
                    VALUES ('cAAAAAAAAAAAAAAAAAAAAA', 'cAAAAAAAAAAAAAAAAAAAAA:APA91b_x', 'demo', 'com.example.app',
                        x'd701', 'production', 5, 6);
                    """)
            try db.execute(sql: writer == "4" ? Self.singleOfVersion4 : Self.single)
            try db.execute(sql: others)
        }
        try Schema.migrator.migrate(pool, upTo: version)
        try pool.close()
    }

    /// A single delivery that waits for its third attempt.
    private static let single = """
        INSERT INTO message (id, project, registration, audience, source, is_displayed, priority,
            time_to_live, lane, state, accepted_at, expires_at)
        VALUES ('0:1-a', 'demo', 1, 1, '{}', 0, 10, 60, 0, 'ACTIVE', 7, 60007);
        INSERT INTO pending (message, registration, lane, not_before, attempts, last_cause)
        VALUES (1, 1, 0, 8, 2, 'connect_failed');
        """
    private static let singleOfVersion4 = """
        INSERT INTO message (id, project, registration, audience, singles, source, bytes, is_displayed, priority,
            time_to_live, lane, collapses_repeats, state, accepted_at, expires_at)
        VALUES ('0:1-a', 'demo', 1, 1, 1, '{}', 2, 0, 10, 60, 0, 1, 'ACTIVE', 7, 60007);
        INSERT INTO route (id, project, app, environment) VALUES (1, 'demo', 'com.example.app', 'production');
        INSERT INTO pending (message, registration, lane, route, not_before, attempts, last_cause)
        VALUES (1, 1, 0, 1, 8, 2, 'connect_failed');
        """
    /// An ended registration with a token of another system, keys that are gone, and a subscription.
    private static let others = """
        INSERT INTO registration (key, fid, token, project, app, device_token, environment, app_version,
            created_at, refreshed_at, ended_at, end_cause)
        VALUES (4, 'dAAAAAAAAAAAAAAAAAAAAA', 'bk3RNwTe3H0:CI2k_HHwgIpoDKCIZ', 'demo', 'com.example.app',
            x'd702', 'sandbox', '1.2', 5, 6, 9, 'deleted');
        UPDATE sqlite_sequence SET seq = 7 WHERE name = 'registration';
        INSERT INTO topic (id, project, name) VALUES (1, 'demo', 'news');
        UPDATE meta SET value = 3 WHERE name = 'subscriptions';
        INSERT INTO subscription (topic, registration, number, created_at) VALUES (1, 1, 3, 8);
        """

    @Test(arguments: Schema.versions.prefix(3))
    func theOpenWorkOfAnEarlierVersionGoesOn(version: String) async throws {
        try makeStore(of: version)
        let files = StoreDirectory(path: directory.path)
        let pool = try DatabasePool(path: files.databasePath)
        try await pool.write { db in try db.execute(sql: Self.broadcast) }
        try pool.close()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        #expect(try await store.check() == [])
        let project = try #require(ProjectID(rawValue: "demo"))
        let id = try #require(MessageID(rawValue: "0:2-a"))
        #expect(store.load.total == StoreLoad.Sum(messages: 3, bytes: 6))
        let message = try #require(try await store.message(id, in: project))
        #expect(message.recipient == .topic(Topic(rawValue: "news")!, audience: 6) && message.lane == .bulk)
        #expect(message.options == DeliveryOptions(collapsesRepeats: false))
        // One of the page that was claimed, and the single delivery.
        #expect(try await store.takeOver(at: time) == 2)
        #expect(try await store.check() == [])
        let worker = try await store.enroll("new", until: time)
        let route = PushRoute(project: project, app: AppID(rawValue: "com.example.app")!, environment: .production)
        let due = try await store.claimDue(.interactive, route, limit: 9, by: worker, at: time)
        #expect(due.map(\.history.attempts).sorted() == [1, 2])
        #expect(due.filter { $0.registration.key.rawValue == 4 }.map(\.history) == [AttemptHistory(interruptions: 1)])
        var pages: [[Int64]] = []
        while let shard = try await store.openFanOuts(limitPerProject: 9).first {
            let claim = try await store.claimPage(of: shard.id, limit: 9, held: [], by: worker, at: time)
            guard let page = claim.page else { continue }
            pages.append(page.deliveries.map(\.registration.key.rawValue))
            #expect(Set(page.deliveries.map(\.history.attempts)) == [pages.count < 3 ? 1 : 0])
            _ = try await store.settle(page.deliveries.map(accepted), by: worker)
            #expect(try await store.check() == [])
        }
        #expect(pages == [[3], [4], [6, 7]])
        let report = try #require(try await store.report(id, in: project))
        #expect(report.state == .complete && report.recipients == 5 && report.ended[.accepted] == 5)
    }

    private func accepted(_ delivery: ClaimedDelivery) -> Settlement {
        let entry = LedgerEntry(
            outcome: .accepted, reason: nil, verdict: nil, history: delivery.history, time: time,
            latencyMilliseconds: 1, apnsID: APNSID(message: delivery.message, registration: delivery.registration.key))
        return Settlement(delivery: delivery, result: .ended(entry))
    }

    /// A broadcast to six of which one left: a page in the hands of a run that settled one of its two, a page that was
    /// given back, and two recipients not claimed yet. And a single delivery in the hands of that run.
    private static let broadcast = """
        INSERT INTO registration (fid, token, project, app, device_token, environment, created_at, refreshed_at)
            WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 7)
            SELECT 'cBBBBBBBBBBBBBBBBBBBB' || i, 'cBBBBBBBBBBBBBBBBBBBB' || i || ':APA91b_x', 'demo',
                'com.example.app', CAST('token' || i AS BLOB), 'production', 5, 6 FROM n;
        INSERT INTO topic (id, project, name) VALUES (1, 'demo', 'news');
        INSERT INTO subscription (topic, registration, number, created_at)
            SELECT 1, key, key, 5 FROM registration WHERE key IN (2, 3, 4, 6, 7);
        UPDATE meta SET value = 7 WHERE name = 'subscriptions';
        UPDATE meta SET value = 50 WHERE name = 'ledger_clock';
        INSERT INTO message (seq, id, project, topic, audience, source, is_displayed, priority, time_to_live, lane, state,
            accepted_at, expires_at)
            VALUES (2, '0:2-a', 'demo', 1, 6, '{}', 0, 5, 60, 1, 'ACTIVE', 7, 60007);
        INSERT INTO fan_out (message, shard, topic, last_subscription, after_key, last_key, expected, claimed, served)
            VALUES (2, 0, 1, 7, 5, 7, 6, 4, 1);
        INSERT INTO page (message, shard, after_key, last_key, claimed, settled, released, interruptions)
            VALUES (2, 0, 1, 3, 2, 1, 0, 0), (2, 0, 3, 5, 2, 0, 1, 1);
        INSERT INTO ledger (project, message, registration, fid, app, ended_at, recorded_at, outcome, attempts,
            unknown_attempts, latency_ms, apns_id)
            SELECT 'demo', 2, key, fid, app, 50, 50, 'accepted', 1, 0, 43, '6c4f6b60-1f4c-8a52-9c1e-2a3b4c5d6e7f'
            FROM registration WHERE key = 2;
        INSERT INTO ledger_hour (project, hour, first_id, last_id) VALUES ('demo', 0, 1, 1);
        INSERT INTO tally (message, outcome, reason, count) VALUES (2, 'accepted', '', 1);
        INSERT INTO latency (message, bucket, count) VALUES (2, 43, 1);
        INSERT INTO message (seq, id, project, registration, audience, source, is_displayed, priority, time_to_live, lane,
            state, accepted_at, expires_at)
            VALUES (3, '0:3-a', 'demo', 4, 1, '{}', 0, 10, 60, 0, 'ACTIVE', 7, 60007);
        INSERT INTO pending (message, registration, lane, claimed, not_before) VALUES (3, 4, 0, 1, 8);
        """
}
