import Delivery
import Store
import Synchronization
import Testing

/// Who passes at the same time.
@Suite(.timeLimit(.minutes(5)))
struct AsyncSemaphoreTests {
    private final class Passage: Sendable {
        let counts = Mutex((inside: 0, most: 0, passed: 0))

        func enter() {
            counts.withLock {
                $0.inside += 1
                $0.most = max($0.most, $0.inside)
            }
        }

        func leave() {
            counts.withLock {
                $0.inside -= 1
                $0.passed += 1
            }
        }
    }

    @Test func fewAreInsideAtATimeAndEverybodyPasses() async {
        let semaphore = AsyncSemaphore(places: 2)
        let passage = Passage()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    await semaphore.enter()
                    passage.enter()
                    await Task.yield()
                    passage.leave()
                    semaphore.leave()
                }
            }
        }
        #expect(passage.counts.withLock { $0.most <= 2 && $0.passed == 200 && $0.inside == 0 })
    }

    /// Parts of large batches go two at a time, of however many senders.
    @Test func partsOfLargeBatchesGoTwoAtATime() async {
        let rig = Rig()
        let passage = Passage()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    await rig.acceptor.inTurn {
                        passage.enter()
                        await Task.yield()
                        passage.leave()
                    }
                }
            }
        }
        #expect(passage.counts.withLock { $0.most <= 2 && $0.passed == 200 && $0.inside == 0 })
    }
}
