import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(5)))
struct HousekeeperTests {
    /// A pass of a part takes as many steps as the store says, and each goes by the projects of that moment.
    @Test func theTimesOfProjectsThatAreReadAgainHoldAtOnce() async throws {
        let directory = ProjectDirectory([])
        let asked = Mutex<[(part: RetentionPart, rules: RetentionRules)]>([])
        let store = ScriptedRetention { part, rules in
            let count = asked.withLock { asked in
                asked.append((part, rules))
                return asked.count
            }
            if count == 1 {
                directory.replace(with: [
                    Project(
                        id: Sample.projectID, number: 1, apps: [], retention: RetentionPolicy(ledgerDays: 7))
                ])
            }
            return RetentionProgress(count: 1, isDone: count > 2)
        }
        let clock = TestClock()
        let keeper = Housekeeper(
            Housekeeper.Chore.retention(of: store) {
                directory.retentionRules(standard: RetentionPolicy(ledgerDays: 3))
            }, clock: clock, wallTime: clock.wallTime(startingAt: Sample.start), logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group throws -> Void in
            group.addTask { await keeper.run() }
            for _ in 0..<2 {
                await clock.sleepers(1, within: .seconds(1))
                clock.advance(by: .milliseconds(15))
            }
            await clock.sleepers(1, within: .seconds(3600))
            group.cancelAll()
        }
        let calls = asked.withLock { $0 }
        #expect(calls.map(\.part) == [.payloads, .payloads] + RetentionPart.allCases)
        let later = Array(repeating: 7, count: RetentionPart.allCases.count + 1)
        #expect(calls.map { $0.rules[Sample.projectID].ledgerDays } == [3] + later)
        #expect(calls.last?.rules.standard.ledgerDays == 3)
    }

    @Test func countersOfLinksGoAfterFourHundredDays() async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        let project = ProjectID(rawValue: "demo")!
        let made = try await store.create(
            NewLink(
                project: project, prefix: "go.example.com", suffixes: ["a"], kind: .custom, parameters: "link=x",
                createdAt: Timestamp(seconds: 1)), audit: nil)
        guard case .created(let link) = made else {
            Issue.record("no link was made")
            return
        }
        let counts = [100, 101].map {
            LinkCount(link: link.id, day: $0, platform: .ios, event: .click, count: 1)
        }
        try await store.add(counts)
        let clock = TestClock()
        let keeper = Housekeeper(
            [.linkCounts(of: store)], clock: clock,
            wallTime: clock.wallTime(startingAt: Timestamp(seconds: 86_400 * 501 - 1)), logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group throws -> Void in
            group.addTask { await keeper.run() }
            await clock.sleepers(1, within: .seconds(3600))
            #expect(try await store.counts(of: link.id, days: 0...1000) == counts)
            clock.advance(by: .seconds(3600))
            await clock.sleepers(1, within: .seconds(3600))
            #expect(try await store.counts(of: link.id, days: 0...1000) == [counts[1]])
            group.cancelAll()
        }
    }

    @Test func whatEndedThirtyDaysAgoGoesWithinTheHour() async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        let project = ProjectID(rawValue: "demo")!
        let ended = Timestamp(seconds: 1_000_000)
        var made: [Registration] = []
        for number in 0..<3 {
            let request = RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production), appVersion: nil)
            let registration = try await store.register(request, at: ended).registration
            try await store.end(
                registration.key, RegistrationEnd(time: ended + .seconds(1800 * number), cause: .deleted))
            made.append(registration)
        }
        let clock = TestClock()
        let start = ended + Housekeeper.Chore.endedRegistrationLifetime + .seconds(1)
        let keeper = Housekeeper(
            [.endedRegistrations(of: store)], clock: clock, wallTime: clock.wallTime(startingAt: start),
            logger: Logger(label: "test"))
        let left = { () async throws -> Int in
            var count = 0
            for registration in made where try await store.registration(registration.id, in: project) != nil {
                count += 1
            }
            return count
        }
        try await withThrowingTaskGroup(of: Void.self) { group throws -> Void in
            group.addTask { await keeper.run() }
            await clock.sleepers(1, within: .seconds(3600))
            #expect(try await left() == 2)
            clock.advance(by: .seconds(3600))
            await clock.sleepers(1, within: .seconds(3600))
            #expect(try await left() == 0)
            group.cancelAll()
        }
    }
}

/// A retention that answers as it is told.
private struct ScriptedRetention: StoreRetention {
    let answer: @Sendable (RetentionPart, RetentionRules) -> RetentionProgress

    func remove(
        _ part: RetentionPart, by rules: RetentionRules, at now: Timestamp
    ) async throws(StoreError) -> RetentionProgress {
        answer(part, rules)
    }

    func cleanFiles() async throws(StoreError) -> CleaningObstacle? { nil }
    var hasUncleanFiles: Bool { false }
}
