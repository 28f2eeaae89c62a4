import PushModel
import Store
import Synchronization
import Testing

@testable import Console

/// What pages that are open cost.
struct LiveTests {
    /// A render that ends when it is told to.
    private final class Renders: Sendable {
        private let count = Mutex(0)
        let started = AsyncStream<Int>.makeStream()
        let go = AsyncStream<Void>.makeStream()

        func render() async -> String? {
            let number = count.withLock { count in
                count += 1
                return count
            }
            started.continuation.yield(number)
            var turns = go.stream.makeAsyncIterator()
            _ = await turns.next()
            return "part \(number)"
        }
    }

    @Test func feedsThatAskMeanwhileShareTheNextRender() async throws {
        let (shared, renders) = (SharedRenders(), Renders())
        let (first, rest) = try await withThrowingTaskGroup(of: String?.self) { group in
            group.addTask { try await shared.part(of: "page") { await renders.render() } }
            var started = renders.started.stream.makeAsyncIterator()
            #expect(await started.next() == 1)
            for _ in 0..<20 { group.addTask { try await shared.part(of: "page") { await renders.render() } } }
            while await shared.waiting(for: "page") < 20 { await Task.yield() }
            renders.go.continuation.yield()
            let first = try await group.next() ?? nil
            #expect(await started.next() == 2)
            renders.go.continuation.yield()
            var rest: [String?] = []
            for try await part in group { rest.append(part) }
            return (first, rest)
        }
        // What began before they asked may miss what they were told of.
        #expect(first == "part 1" && rest == Array(repeating: "part 2", count: 20))
    }

    @Test func aRenderThatFailsIsMadeAgainByTheNext() async throws {
        struct Failure: Error {}
        let shared = SharedRenders()
        await #expect(throws: Failure.self) { try await shared.part(of: "page") { throw Failure() } }
        #expect(try await shared.part(of: "page") { "part" } == "part")
    }

    @Test func oneOperatorDoesNotHoldAllPlaces() throws {
        let count = FeedCount()
        let names = try (0...20).map { try #require(OperatorName(rawValue: "operator\($0)")) }
        let taken = names.map { name in (0..<50).filter { _ in count.enter(name) }.count }
        #expect(taken == Array(repeating: 20, count: 10) + Array(repeating: 0, count: 11))
        count.leave(names[0])
        #expect(count.enter(names[20]) && !count.enter(names[1]))
    }
}
