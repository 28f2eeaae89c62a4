import Logging
import PushModel
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(5)))
struct HousekeeperTests {
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
