import NIOCore
import Synchronization

/// A push as a simulator records it.
package protocol Arrival: Sendable {
    /// Its number, from 1, in the order of arrival; the log gives it.
    var number: Int { get set }
}

/// How many arrivals wait for a slow listener; beyond that it loses the oldest.
package let arrivalsLimit = 4096

/// Every push that arrived, in memory, at most `limit` (the oldest are forgotten), and to listeners as they come.
///
/// Pushes of one connection keep their order; the order between connections is that of ``Arrival/number``.
package final class ArrivalLog<Push: Arrival>: Sendable {

    private enum Goal {
        /// `count` reaches this.
        case count(Int)
        /// More have arrived than this many, those forgotten by `clear` included.
        case moreThan(Int)
    }

    private struct State {
        var pushes = CircularBuffer<Push>()
        /// Arrivals since the last `clear`.
        var count = 0
        /// Arrivals before the last `clear`.
        var cleared = 0
        var nextID = 0
        var waiters: [Int: (goal: Goal, continuation: CheckedContinuation<Void, Never>)] = [:]
        var listeners: [Int: AsyncStream<Push>.Continuation] = [:]

        mutating func makeID() -> Int {
            nextID += 1
            return nextID
        }

        func isReached(_ goal: Goal) -> Bool {
            switch goal {
            case .count(let count): self.count >= count
            case .moreThan(let total): cleared + self.count > total
            }
        }

        mutating func takeReached() -> [CheckedContinuation<Void, Never>] {
            guard !waiters.isEmpty else { return [] }
            let reached = waiters.filter { isReached($0.value.goal) }
            for id in reached.keys { waiters[id] = nil }
            return reached.values.map(\.continuation)
        }
    }

    private let limit: Int
    private let state = Mutex(State())

    /// An empty recording.
    package init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// All pushes still remembered, oldest first.
    package var pushes: [Push] { state.withLock { Array($0.pushes) } }

    /// All pushes still remembered whose number is greater than `number`, oldest first.
    package func pushes(after number: Int) -> [Push] {
        state.withLock { state in
            guard let first = state.pushes.first else { return [] }
            return Array(state.pushes.dropFirst(max(0, number - first.number + 1)))
        }
    }

    /// How many arrived since the start.
    package var count: Int { state.withLock { $0.count } }

    /// Suspends until at least `count` pushes have arrived since the start, or the task is cancelled.
    package func wait(untilCount count: Int) async {
        await wait(until: .count(count))
    }

    /// Pushes as they arrive from now on.
    package func arrivals() -> AsyncStream<Push> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Push.self, bufferingPolicy: .bufferingNewest(arrivalsLimit))
        let id = state.withLock { state in
            let id = state.makeID()
            state.listeners[id] = continuation
            return id
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    /// Forgets everything; ``count`` starts again.
    package func clear() {
        state.withLock { state in
            state.pushes.removeAll()
            state.cleared += state.count
            state.count = 0
        }
    }

    /// Keeps a push, which gets its number here.
    func add(_ push: Push) {
        var push = push
        let (reached, listeners) = state.withLock { state in
            state.count += 1
            push.number = state.count
            if state.pushes.count == limit { state.pushes.removeFirst() }
            state.pushes.append(push)
            return (state.takeReached(), state.listeners.values)
        }
        for continuation in reached { continuation.resume() }
        for listener in listeners { listener.yield(push) }
    }

    /// Ends all streams of ``arrivals()``: no push will come any more.
    func finish() {
        let listeners = state.withLock { state in
            defer { state.listeners.removeAll() }
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
    }

    /// The pushes that arrived after the first `total` ones, and how many have arrived by now in all; waits for one.
    ///
    /// The numbers here do not start again with ``clear()``.
    func next(after total: Int) async -> (pushes: [Push], total: Int) {
        await wait(until: .moreThan(total))
        return rest(after: total)
    }

    /// Like ``next(after:)`` without waiting.
    func rest(after total: Int) -> (pushes: [Push], total: Int) {
        state.withLock { state in
            let now = state.cleared + state.count
            return (Array(state.pushes.suffix(max(0, now - total))), now)
        }
    }

    private func wait(until goal: Goal) async {
        let id = state.withLock { $0.makeID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // A cancellation before this line found nothing to resume.
                    if Task.isCancelled || state.isReached(goal) { return true }
                    state.waiters[id] = (goal, continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
        }
    }
}
