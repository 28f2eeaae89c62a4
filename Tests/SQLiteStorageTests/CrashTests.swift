import Foundation
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

/// What a killed process leaves on the disk is enough to go on.
@Suite(.timeLimit(.minutes(5)))
struct CrashTests {
    private let directory: TestDirectory
    private let project = ProjectID(rawValue: "demo")!

    init() throws {
        directory = try TestDirectory()
    }

    private func open(_ name: String) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.file(name), role: .gateway, logger: Logger(label: "test"))
    }

    /// Copies the files of a store that is open, as a kill would leave them: the journal is not played back.
    private func copy(_ store: String, to copy: String) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: directory.file(copy), withIntermediateDirectories: true)
        for name in ["herald.db", "herald.db-wal"] {
            try files.copyItem(atPath: directory.file("\(store)/\(name)"), toPath: directory.file("\(copy)/\(name)"))
        }
    }

    private func broadcast(_ store: SQLiteStore, to count: Int) async throws -> Message {
        let topic = try #require(Topic(rawValue: "news"))
        for number in 0..<count {
            let request = RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production), appVersion: nil)
            let registration = try await store.register(request, at: Timestamp(milliseconds: 1)).registration
            _ = try await store.subscribe([registration.key], to: topic, at: Timestamp(milliseconds: 1))
        }
        let content = PlainContent()
        let message = NewMessage(
            id: MessageID(acceptedAt: Timestamp(milliseconds: 5), random: 1), project: project,
            recipient: .topic(topic), content: content, lane: .bulk,
            facts: MessageFacts(label: nil, isDisplayed: false, collapseKey: nil, priority: 5, timeToLiveSeconds: 60),
            acceptedAt: Timestamp(milliseconds: 5), expiresAt: Timestamp(milliseconds: 60_005))
        let result = try await store.accept([message], claimedBy: nil)
        guard case .accepted(let accepted, _)? = result.first else { throw StoreError(.failed, "not accepted") }
        return accepted
    }

    private func accepted(_ delivery: ClaimedDelivery) -> Settlement {
        Settlement(
            delivery: delivery,
            result: .ended(
                LedgerEntry(
                    outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
                    time: Timestamp(milliseconds: 50), latencyMilliseconds: 45,
                    pushID: PushID(message: delivery.message, registration: delivery.registration.key))))
    }

    private func retried(_ delivery: ClaimedDelivery) -> Settlement {
        Settlement(
            delivery: delivery,
            result: .retry(AttemptHistory(attempts: 1, lastCause: "refused"), notBefore: Timestamp(milliseconds: 60)))
    }

    /// Works on `store` until nothing is left, and kills it before step `killedAt` by copying its files.
    private func work(_ store: SQLiteStore, name: String, killedAt: Int) async throws -> Bool {
        var step = 0
        func isKilled() throws -> Bool {
            step += 1
            guard step == killedAt else { return false }
            try copy(name, to: "copy")
            return true
        }
        let now = Timestamp(milliseconds: 100)
        let worker = try await store.enroll(name, for: .seconds(1000))
        while true {
            if try isKilled() { return true }
            guard let shard = try await store.openFanOuts(limitPerProject: 1).first else { break }
            let claim = try await store.claimPage(of: shard.id, limit: 4, held: [], by: worker, at: now)
            if try isKilled() { return true }
            guard let deliveries = claim.page?.deliveries else { continue }
            let half = deliveries.count / 2
            _ = try await store.settle(deliveries[..<half].map(accepted), by: worker)
            if try isKilled() { return true }
            _ = try await store.settle(deliveries[half...].map(retried), by: worker)
        }
        while let route = try await store.dueRoutes(.bulk, at: now).routes.first {
            if try isKilled() { return true }
            let due = try await store.claimDue(.bulk, route, limit: 3, by: worker, at: now)
            if try isKilled() { return true }
            _ = try await store.settle(due.map(accepted), by: worker)
        }
        return false
    }

    @Test func aKillAtAnyStepLosesAndRepeatsNoRecordedDelivery() async throws {
        var steps = 0
        for killedAt in 1... {
            let name = "store\(killedAt)"
            let first = try open(name)
            let message = try await broadcast(first, to: 10)
            guard try await work(first, name: name, killedAt: killedAt) else { break }
            steps += 1
            let claimed = try await first.lastColumn(
                of: """
                    SELECT (SELECT coalesce(sum(open), 0) FROM page)
                        + (SELECT count(*) FROM pending WHERE worker IS NOT NULL)
                    """)
            let second = try open("copy")
            let rescued = try await second.takeOver(at: Timestamp(milliseconds: 100))
            #expect(["\(rescued)"] == claimed)
            #expect(try await second.check() == [])
            _ = try await work(second, name: "copy", killedAt: .max)
            let report = try #require(try await second.report(message.id, in: project))
            #expect(report.state == .complete && report.recipients == 10 && report.ended[.accepted] == 10)
            #expect(try await second.check() == [])
            try second.close()
            try FileManager.default.removeItem(atPath: directory.file("copy"))
        }
        #expect(steps >= 14)
    }
}
