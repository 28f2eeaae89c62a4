import DequeModule
import PushModel
import Synchronization

/// The door in front of an upstream's pools that keeps its ``Pace``: callers wait there for room, interactive ones first.
///
/// Whoever waits goes on when pushes come back, and those that are in flight always do: within the time limits of queue
/// and stream, or when the pools close. Cancelling a task does not cut its wait short.
final class PaceGate: Sendable {
    /// How an entry ended.
    enum Entry: Hashable, Sendable {
        /// So many pushes may go, at least one; each comes back by ``leave(_:good:)``.
        case granted(Int)
        /// None may go for this long: APNs wants to be left alone, or too many wait already. With the reason of the limit.
        case held(APNSReason, after: Duration)
        /// The upstream is closed.
        case closed
    }

    /// Which lanes are crowded: whoever takes work from the store is to leave it there until the crowd has gone.
    enum Crowd: Hashable, Sendable {
        /// None: few wait, or nobody.
        case none
        /// The bulk lane.
        case bulk
        /// The interactive one: as it goes first, nothing is wanted of the other either.
        case all
    }

    /// The most pushes that wait, for each lane: a crowd, and the pages that were claimed before it was known.
    static let waitingLimit = 5000
    /// So many that wait in a lane are a crowd…
    static let crowdBegin = 500
    /// … until no more than these are left. Enough to go on with while more are claimed.
    static let crowdEnd = 250
    /// How long those are held back that find too many waiting.
    static let crowdedPause: Duration = .seconds(2)

    private struct Waiter {
        /// What counts in the line.
        let wanted: Int
        /// Everything that it came with.
        let all: Int
        let continuation: CheckedContinuation<Entry, Never>
    }

    private struct Line {
        var waiters: Deque<Waiter> = []
        var wanted = 0
        /// Pushes that came and have no place yet, also those of callers that got a part and are about to come back.
        var open = 0 {
            didSet {
                if open >= PaceGate.crowdBegin { isCrowded = true }
                if open <= PaceGate.crowdEnd { isCrowded = false }
            }
        }
        private(set) var isCrowded = false

        mutating func removeFirst() -> Waiter {
            let waiter = waiters.removeFirst()
            wanted -= waiter.wanted
            return waiter
        }
    }

    private struct State {
        var pace = Pace()
        var urgent = Line()
        var normal = Line()
        var isClosed = false
        /// Nobody waits any more.
        var isWindingDown = false
        /// Why there is a limit.
        var reason = APNSReason.serviceUnavailable

        var crowd: Crowd { urgent.isCrowded ? .all : normal.isCrowded ? .bulk : .none }

        func wish(at now: Duration) -> Wish {
            let rest: UpstreamHold.Rest? =
                if let notBefore = pace.notBefore, notBefore > now {
                    UpstreamHold.Rest(until: notBefore, limit: pace.isTrying ? 1 : nil)
                } else if pace.isTrying {
                    UpstreamHold.Rest(until: .zero, isTrying: pace.inFlight > 0, limit: 1)
                } else {
                    nil
                }
            return Wish(crowd: crowd, rest: rest)
        }

        func room(isUrgent: Bool) -> Int { isUrgent ? pace.room : pace.bulkRoom }

        /// Takes up to `wanted` places.
        mutating func grant(_ wanted: Int, isUrgent: Bool) -> Int {
            let granted = min(wanted, room(isUrgent: isUrgent))
            pace.enter(granted)
            return granted
        }

        mutating func noteOpen(_ change: Int, isUrgent: Bool) {
            if isUrgent { urgent.open += change } else { normal.open += change }
        }

        /// Takes out of the lines who need not wait any more.
        mutating func admit(at now: Duration) -> [(CheckedContinuation<Entry, Never>, Entry)] {
            var admitted: [(CheckedContinuation<Entry, Never>, Entry)] = []
            while !urgent.waiters.isEmpty || !normal.waiters.isEmpty {
                let rest = pace.rest(at: now)
                let isUrgent = !urgent.waiters.isEmpty
                guard isClosed || isWindingDown || rest != nil || room(isUrgent: isUrgent) > 0 else { break }
                let waiter = isUrgent ? urgent.removeFirst() : normal.removeFirst()
                let entry: Entry
                var gone = waiter.all
                if isClosed || isWindingDown {
                    entry = .closed
                } else if let rest {
                    entry = .held(.serviceUnavailable, after: rest)
                } else {
                    gone = grant(waiter.wanted, isUrgent: isUrgent)
                    entry = .granted(gone)
                }
                noteOpen(-gone, isUrgent: isUrgent)
                admitted.append((waiter.continuation, entry))
            }
            return admitted
        }
    }

    private let state = Mutex(State())
    private let uptime: Uptime
    private let changed = Bell()

    init(uptime: @escaping Uptime) {
        self.uptime = uptime
    }

    /// The most pushes that may be in flight; `nil`: no limit.
    var limit: Int? { state.withLock { $0.pace.limit } }

    /// How long APNs wants to be left alone; `nil`: not at all.
    func rest(at now: Duration) -> Duration? { state.withLock { $0.pace.rest(at: now) } }

    /// What the gate asks of those who take work from the store.
    struct Wish: Equatable {
        var crowd = Crowd.none
        /// What APNs asked for, or its failures.
        var rest: UpstreamHold.Rest?
    }

    /// What is wanted of those who take work from the store.
    func wish(at now: Duration) -> Wish { state.withLock { $0.wish(at: now) } }

    /// Which lanes are crowded.
    var crowd: Crowd { state.withLock { $0.crowd } }

    /// Sets what is called after ``wish(at:)`` changed by anything but the passing of time, without a lock held.
    func onChange(_ body: @escaping @Sendable () -> Void) {
        changed.hang(body)
    }

    /// Pushes that wait.
    var waiting: Int { state.withLock { $0.urgent.wanted + $0.normal.wanted } }

    /// Asks for up to `wanted` places, at least one.
    ///
    /// - Parameter isReturning: these are what was left when a part was granted. Whoever got a part comes back with the
    ///   rest: it counts in the crowd.
    func enter(_ wanted: Int, isUrgent: Bool, isReturning: Bool = false) async -> Entry {
        await withCheckedContinuation { continuation in
            let now = uptime()
            let (entry, isNews) = state.withLock { state in
                let wish = state.wish(at: now)
                let entry = Self.enter(wanted, isUrgent: isUrgent, continuation, &state, at: now)
                let left =
                    switch entry {
                    case nil: wanted
                    case .granted(let count): wanted - count
                    case .held, .closed: 0
                    }
                state.noteOpen(left - (isReturning ? wanted : 0), isUrgent: isUrgent)
                return (entry, state.wish(at: now) != wish)
            }
            if let entry { continuation.resume(returning: entry) }
            if isNews { changed.ring() }
        }
    }

    /// - Returns: the answer; `nil`: the caller waits in line.
    private static func enter(
        _ wanted: Int, isUrgent: Bool, _ continuation: CheckedContinuation<Entry, Never>, _ state: inout State,
        at now: Duration
    ) -> Entry? {
        if state.isClosed { return .closed }
        if let rest = state.pace.rest(at: now) { return .held(.serviceUnavailable, after: rest) }
        let isFirst = state.urgent.waiters.isEmpty && (isUrgent || state.normal.waiters.isEmpty)
        if isFirst, state.room(isUrgent: isUrgent) > 0 {
            return .granted(state.grant(wanted, isUrgent: isUrgent))
        }
        if state.isWindingDown { return .closed }
        let waiter = Waiter(wanted: min(wanted, waitingLimit), all: wanted, continuation: continuation)
        let isIn = isUrgent ? append(waiter, to: &state.urgent) : append(waiter, to: &state.normal)
        return isIn ? nil : .held(state.reason, after: crowdedPause)
    }

    private static func append(_ waiter: Waiter, to line: inout Line) -> Bool {
        guard line.wanted + waiter.wanted <= waitingLimit else { return false }
        line.waiters.append(waiter)
        line.wanted += waiter.wanted
        return true
    }

    /// `count` pushes are back, `good` of them with an answer that does not speak of load.
    ///
    /// - Parameter overload: not `nil`: some answers said that APNs is overloaded, and for how long it wants to be left
    ///   alone.
    func leave(_ count: Int, good: Int, overload: Overload? = nil) {
        let now = uptime()
        change { state in
            if let overload {
                state.pace.overloaded(after: overload.after, at: now)
                state.reason = .serviceUnavailable
            }
            state.pace.leave(count, good: good)
        }
    }

    /// What overloaded answers said.
    struct Overload: Hashable {
        /// The longest time that one asked for.
        var after: Duration?
    }

    /// A pause for this reason is over, or it is not clear whether there will be one: what comes now comes slowly.
    func restartSlowly(after reason: APNSReason) {
        change { state in
            state.pace.restartSlowly()
            state.reason = reason
        }
    }

    /// Lets nobody in any more; those who wait are told so.
    func close() {
        change { $0.isClosed = true }
    }

    /// From now on pushes that find no room are told that the upstream is closed, instead of waiting; so are those that
    /// wait.
    func windDown() {
        change { $0.isWindingDown = true }
    }

    private func change(_ body: (inout State) -> Void) {
        let now = uptime()
        let (admitted, isNews) = state.withLock { state in
            let wish = state.wish(at: now)
            body(&state)
            let admitted = state.admit(at: now)
            return (admitted, state.wish(at: now) != wish)
        }
        for (waiter, entry) in admitted { waiter.resume(returning: entry) }
        if isNews { changed.ring() }
    }
}
