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

/// What a claim read in a snapshot and what is true at its commit may differ: it hands out what is true.
@Suite(.timeLimit(.minutes(5)))
struct ClaimTruthTests {
    private let directory: TestDirectory
    private let store: SQLiteStore
    private let project = ProjectID(rawValue: "demo")!
    private let app = AppID(rawValue: "com.example.app")!
    private let topic = Topic(rawValue: "news")!
    private let time = Timestamp(milliseconds: 100)

    init() throws {
        directory = try TestDirectory()
        store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    private func audience(_ count: Int) async throws -> [Registration] {
        var made: [Registration] = []
        for number in 0..<count {
            let request = RegistrationRequest(
                project: project, app: app, address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production),
                appVersion: nil)
            made.append(try await store.register(request, at: Timestamp(milliseconds: 1)).registration)
        }
        _ = try await store.subscribe(made.map(\.key), to: topic, at: Timestamp(milliseconds: 1))
        return made
    }

    private func send(_ recipient: Recipient<RegistrationKey, [RegistrationKey]>, _ lane: Lane) async throws {
        let content = PlainContent()
        let message = NewMessage(
            id: MessageID(acceptedAt: Timestamp(milliseconds: 5), random: 1), project: project,
            recipient: recipient, content: content, lane: lane,
            facts: MessageFacts(label: nil, isDisplayed: false, collapseKey: nil, priority: 5, timeToLiveSeconds: 60),
            acceptedAt: Timestamp(milliseconds: 5), expiresAt: Timestamp(milliseconds: 60_005))
        _ = try await store.accept([message], claimedBy: nil)
    }

    private func change(_ registration: Registration, _ change: RegistrationChange) async throws {
        _ = try await store.change(registration.key, change, at: time)
    }

    private static let token = DeviceToken(bytes: [9, 9])!

    private func quarantine(_ registration: Registration) async throws {
        try await store.write { db in
            try RegistrationTable(db: db).quarantine(
                DeliveryRegistration(registration),
                Quarantine(time: Timestamp(milliseconds: 50), reason: "BadDeviceToken"))
        }
    }

    /// Claims a page of a topic, with `between` after its recipients were read.
    private func claimPage(
        held: Set<PushRoute> = [], _ between: ([Registration]) async throws -> Void
    ) async throws -> (page: [DeliveryRegistration], all: [Registration]) {
        let all = try await audience(5)
        try await send(.topic(topic), .bulk)
        let worker = try await store.enroll("w", for: .seconds(1000))
        let id = try #require(try await store.openFanOuts(limitPerProject: 1, held: held).first?.id)
        let offer = try await store.read { db in try FanOutTable(db: db).offer(of: id, limit: 9, held: held) }
        guard case .next(let shard, let candidates) = offer else {
            Issue.record("no recipient is offered")
            return ([], all)
        }
        try await between(all)
        let claim = try await store.write(.claim) { [time] db in
            try FanOutTable(db: db).claim(candidates, of: shard, by: worker, at: time)
        }
        #expect(try await store.check() == [])
        return (claim?.page?.deliveries.map(\.registration) ?? [], all)
    }

    @Test func aDeviceTokenThatChangedMeanwhileIsTheNewOne() async throws {
        let (page, _) = try await claimPage { all in
            try await change(all[2], RegistrationChange(address: .deviceToken(Self.token)))
        }
        #expect(page.count == 5 && page[2].deviceToken == Self.token)
    }

    @Test func whoEndedOrWasQuarantinedMeanwhileIsNoRecipient() async throws {
        let (page, all) = try await claimPage { all in
            try await store.end(all[0].key, RegistrationEnd(time: time, cause: .deleted))
            for name in ["alice", "bob"] {
                try await change(all[1], RegistrationChange(owner: .user(UserID(rawValue: name)!)))
            }
            try await quarantine(all[3])
        }
        #expect(page.map(\.key) == [all[2].key, all[4].key], "a device with another user is another registration")
    }

    @Test func whoseRouteIsHeldByNowIsSetAside() async throws {
        let sandbox = PushRoute(project: project, app: app, channel: .apns(.sandbox))
        let (page, all) = try await claimPage(held: [sandbox]) { all in
            try await change(all[1], RegistrationChange(address: .environment(.sandbox)))
        }
        #expect(page.map(\.key) == [all[0], all[2], all[3], all[4]].map(\.key))
        let shards = try await store.openFanOuts(limitPerProject: 9, held: [])
        let aside = try #require(shards.first { $0.route == sandbox })
        let worker = try await store.enroll("v", for: .seconds(1000))
        let claim = try await store.claimPage(of: aside.id, limit: 9, held: [], by: worker, at: time)
        #expect(claim.page?.deliveries.map(\.registration.key) == [all[1].key])
    }

    @Test func aDeviceThatMovedToAHeldRouteGetsTheBroadcastOnceWhenThatGoesOn() async throws {
        let all = try await audience(3)
        try await send(.topic(topic), .bulk)
        let worker = try await store.enroll("w", for: .seconds(1000))
        let sandbox = PushRoute(project: project, app: app, channel: .apns(.sandbox))
        let id = try #require(try await store.openFanOuts(limitPerProject: 1, held: [sandbox]).first?.id)
        let first = try await store.claimPage(of: id, limit: 1, held: [sandbox], by: worker, at: time)
        #expect(first.page?.deliveries.map(\.registration.key) == [all[0].key])
        try await change(all[2], RegistrationChange(address: .address(.apple(all[0].deviceToken, .sandbox))))
        let rest = try await store.claimPage(of: id, limit: 9, held: [sandbox], by: worker, at: time)
        #expect(rest.page?.deliveries.map(\.registration.key) == [all[1].key] && rest.isDone)
        let aside = try #require(
            try await store.openFanOuts(limitPerProject: 9, held: []).first { $0.route == sandbox })
        let last = try await store.claimPage(of: aside.id, limit: 9, held: [], by: worker, at: time)
        #expect(last.page == nil && last.isDone)
        #expect(try await store.check() == [])
    }

    @Test func afterManyChangesThePageIsReadAgain() async throws {
        let (page, _) = try await claimPage { all in
            try await store.write { db in
                for _ in 0..<1001 {
                    try db.change("INSERT INTO registration_change (registration) VALUES (?)", [1 << 40])
                }
            }
            try await store.write { db in
                // Past the change that would name it.
                try db.change("UPDATE registration SET address = x'0909' WHERE key = ?", [all[4].key.rawValue])
                try db.change("UPDATE registration_change SET registration = 0")
            }
        }
        #expect(page.count == 5 && page[4].deviceToken == Self.token)
    }

    @Test func aDueDeliveryGoesToTheDeviceTokenOfNowAndWaitsOnTheRouteOfNow() async throws {
        let all = try await audience(3)
        try await send(.list(all.map(\.key)), .interactive)
        let worker = try await store.enroll("w", for: .seconds(1000))
        let route = PushRoute(project: project, app: app, channel: .apns(.production))
        let (changes, due) = try await store.read { [time] db in
            (
                try RegistrationChanges(db: db).number(),
                try PendingTable(db: db).due(.interactive, route, limit: 9, at: time)
            )
        }
        try await change(all[0], RegistrationChange(address: .deviceToken(Self.token)))
        try await change(all[1], RegistrationChange(address: .environment(.sandbox)))
        let claimed = try await store.write(.claim) { [time] db in
            try PendingTable(db: db).claim(due, readAt: changes, by: worker, at: time).claimed
        }
        #expect(claimed.map(\.registration.key) == [all[0].key, all[2].key])
        #expect(claimed.first?.registration.deviceToken == Self.token)
        let sandbox = PushRoute(project: project, app: app, channel: .apns(.sandbox))
        #expect(try await store.dueRoutes(.interactive, at: time).routes == [sandbox])
        #expect(try await store.check() == [])
    }

    @Test func changesAndMovesAreKeptNoLongerThanTheyAreNeeded() async throws {
        let all = try await audience(4)
        try await store.end(all[0].key, RegistrationEnd(time: time, cause: .deleted))
        let former = "SELECT (SELECT count(*) FROM former_holder) + (SELECT count(*) FROM address_move)"
        #expect(try await store.lastColumn(of: former) == ["0"], "no fan-out runs")
        try await send(.topic(topic), .bulk)
        try await change(all[2], RegistrationChange(address: .deviceToken(all[1].deviceToken)))
        #expect(try await store.lastColumn(of: former) == ["3"], "two device tokens were left, one was taken")
        let worker = try await store.enroll("w", for: .seconds(1000))
        let id = try #require(try await store.openFanOuts(limitPerProject: 1).first?.id)
        let claim = try await store.claimPage(of: id, limit: 9, held: [], by: worker, at: time)
        #expect(claim.page?.deliveries.count == 2 && claim.isDone)
        #expect(try await store.lastColumn(of: former) == ["0"])
    }
}
