import Dispatch
import Synchronization
import Testing

@testable import HTTP2Client

@Suite(.timeLimit(.minutes(5)))
struct WorkerThreadsTests {
    @Test func workIsDoneInTheOrderInWhichItCame() async {
        let threads = WorkerThreads(named: "test", count: 1)
        let gate = DispatchSemaphore(value: 0)
        let done = Mutex<[Int]>([])
        #expect(threads.append { gate.wait() })
        for number in 1...3 { #expect(threads.append { done.withLock { $0.append(number) } }) }
        #expect(done.withLock { $0.isEmpty })
        gate.signal()
        #expect(await threads.run { done.withLock { $0 } } == [1, 2, 3])
        await threads.shutdown()
    }

    /// Both wait for each other, so one thread would never end.
    @Test func asMuchIsDoneAtATimeAsThereAreThreads() async {
        let threads = WorkerThreads(named: "test", count: 2, isBackground: true)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let one = threads.run {
            first.signal()
            second.wait()
            return 1
        }
        async let two = threads.run {
            second.signal()
            first.wait()
            return 2
        }
        #expect(await one + two == 3)
        await threads.shutdown()
    }

    @Test func theEndDoesWhatWaitsAndWhatComesLaterIsDoneByItsCaller() async {
        let threads = WorkerThreads(named: "test", count: 1)
        let gate = DispatchSemaphore(value: 0)
        let done = Mutex(0)
        #expect(threads.append { gate.wait() })
        for _ in 0..<3 { #expect(threads.append { done.withLock { $0 += 1 } }) }
        #expect(threads.queued >= 3)
        async let end: Void = threads.shutdown()
        gate.signal()
        await end
        #expect(done.withLock { $0 } == 3 && threads.queued == 0)
        #expect(!threads.append {})
        #expect(await threads.run { 7 } == 7)
        await threads.shutdown()
    }

    @Test func threadsThatNeverHadWorkEndAtOnce() async {
        await WorkerThreads(named: "test").shutdown()
    }
}
