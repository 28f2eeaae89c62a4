import Logging
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(5)))
struct FileCleanerTests {
    /// A store whose files are clean when it was asked as often as it is told.
    private final class DirtyStore: StoreRetention {
        private let answers: Mutex<[Result<CleaningObstacle?, StoreError>]>

        init(_ answers: [Result<CleaningObstacle?, StoreError>]) {
            self.answers = Mutex(answers)
        }

        var left: Int { answers.withLock { $0.count } }
        var hasUncleanFiles: Bool { left > 0 }

        func cleanFiles() async throws(StoreError) -> CleaningObstacle? {
            try answers.withLock { $0.removeFirst() }.get()
        }

        func remove(
            _ part: RetentionPart, by rules: RetentionRules, at now: Timestamp
        ) async throws(StoreError) -> RetentionProgress { RetentionProgress(count: 0, isDone: true) }
    }

    @Test func itTriesUntilNoReaderIsInTheWayAndLessOftenWhileTheStoreFails() async throws {
        let failure = Result<CleaningObstacle?, StoreError>.failure(StoreError(.failed, "no room"))
        let store = DirtyStore([.success(.reader), failure, failure, .success(.reader), .success(nil)])
        let clock = TestClock()
        let cleaner = FileCleaner(store, clock: clock, logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group throws -> Void in
            group.addTask { await cleaner.run() }
            for (wait, left) in [(5, 4), (5, 3), (10, 2), (20, 1), (5, 0), (5, 0)] {
                await clock.sleepers(1, within: .seconds(wait))
                clock.advance(by: .seconds(wait))
                await clock.sleepers(1, within: .seconds(400))
                #expect(store.left == left)
            }
            group.cancelAll()
        }
    }

    @Test func housekeepingEndsWithTheFiles() async throws {
        let store = DirtyStore([.success(nil)])
        let progress = try await Housekeeper.Chore.files(of: store).run(Timestamp(milliseconds: 0))
        #expect(progress == RetentionProgress(count: 0, isDone: true) && store.left == 0)
    }
}
