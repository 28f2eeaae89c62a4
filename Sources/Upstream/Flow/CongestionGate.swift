import DequeModule
import PushModel
import Synchronization

/// The gate in front of an upstream's pools that keeps to a ``CongestionWindow``: callers wait there for room,
/// interactive ones first.
///
/// Waiting callers go on when pushes come back, and those that are in flight always do: within the time limits of queue
/// and stream, or when the pools close. Where a ``SendPace`` is kept they also go on when its time has come. Cancelling a
/// task does not cut its wait short.
final class CongestionGate: Sendable {
    /// How an entry ended.
    enum Entry: Hashable, Sendable {
        /// So many pushes may go, at least one; each comes back by ``leave(_:good:)``.
        case granted(Int)
        /// None may go for this long: the service wants to be left alone, or too many wait already. With the refusal
        /// behind the limit.
        case held(Refusal, after: Duration)
        /// The upstream is closed.
        case closed
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
                if open >= CongestionGate.crowdBegin { isCrowded = true }
                if open <= CongestionGate.crowdEnd { isCrowded = false }
            }
        }
        private(set) var isCrowded = false

        mutating func removeFirst() -> Waiter {
            let waiter = waiters.removeFirst()
            wanted -= waiter.wanted
            return waiter
        }
    }

    private struct Lines {
        var congestion = CongestionWindow()
        /// `nil`: any number a second.
        var pace: SendPace?
        /// Whether a wake-up is on its way for those that wait for the pace.
        var isWaking = false
        var urgent = Line()
        var normal = Line()
        var isClosed = false
        /// Pushes no longer wait.
        var isWindingDown = false
        /// Why there is a limit.
        var refusal: Refusal

        var crowd: CrowdedLanes { urgent.isCrowded ? .all : normal.isCrowded ? .bulk : .none }

        func wish(at now: Duration) -> Wish {
            let rest: HoldRest? =
                if let notBefore = congestion.notBefore, notBefore > now {
                    HoldRest(until: notBefore, limit: congestion.isTrying ? 1 : nil)
                } else if congestion.isTrying {
                    HoldRest(until: .zero, isTrying: congestion.inFlight > 0, limit: 1)
                } else {
                    nil
                }
            return Wish(crowd: crowd, rest: rest)
        }

        func room(isUrgent: Bool) -> Int {
            let room = isUrgent ? congestion.room : congestion.bulkRoom
            return pace.map { min(room, $0.room(isUrgent: isUrgent)) } ?? room
        }

        /// After how long those that wait for the pace alone are to be woken; `nil`: none does, or it is arranged.
        mutating func wakeUp(at now: Duration) -> Duration? {
            guard let pace, !isWaking, let isUrgent = first?.isUrgent, let wanted = first?.wanted,
                congestion.rest(at: now) == nil, (isUrgent ? congestion.room : congestion.bulkRoom) > 0
            else { return nil }
            isWaking = true
            return pace.wait(for: wanted, isUrgent: isUrgent)
        }

        /// Who is next in line.
        private var first: (isUrgent: Bool, wanted: Int)? {
            urgent.waiters.first.map { (true, $0.wanted) } ?? normal.waiters.first.map { (false, $0.wanted) }
        }

        /// Takes up to `wanted` places.
        mutating func grant(_ wanted: Int, isUrgent: Bool) -> Int {
            let granted = min(wanted, room(isUrgent: isUrgent))
            congestion.enter(granted)
            pace?.take(granted)
            return granted
        }

        mutating func noteOpen(_ change: Int, isUrgent: Bool) {
            if isUrgent { urgent.open += change } else { normal.open += change }
        }

        /// Takes out of the lines who need not wait any more.
        mutating func admit(at now: Duration, overload: Refusal) -> [(CheckedContinuation<Entry, Never>, Entry)] {
            var admitted: [(CheckedContinuation<Entry, Never>, Entry)] = []
            while !urgent.waiters.isEmpty || !normal.waiters.isEmpty {
                let rest = congestion.rest(at: now)
                let isUrgent = !urgent.waiters.isEmpty
                guard isClosed || isWindingDown || rest != nil || room(isUrgent: isUrgent) > 0 else { break }
                let waiter = isUrgent ? urgent.removeFirst() : normal.removeFirst()
                let entry: Entry
                var gone = waiter.all
                if isClosed || isWindingDown {
                    entry = .closed
                } else if let rest {
                    entry = .held(overload, after: rest)
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

    private let state: Mutex<Lines>
    /// Why there is a limit, unless a pause was before it.
    private let overload: Refusal
    private let uptime: Uptime
    private let sleep: @Sendable (Duration) async -> Void
    private let changed = ChangeCallback()

    /// Prepares a gate.
    ///
    /// - Parameters:
    ///   - pace: how many go a second; `nil`: as many as may be in flight.
    ///   - sleep: waits; on the clock of `uptime`.
    init(
        overload: Refusal, pace: SendPace? = nil, uptime: @escaping Uptime,
        // It throws when the task is cancelled, and this one never is.
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        state = Mutex(Lines(pace: pace, refusal: overload))
        self.overload = overload
        self.uptime = uptime
        self.sleep = sleep
    }

    /// The most pushes that may be in flight; `nil`: no limit.
    var limit: Int? { state.withLock { $0.congestion.limit } }

    /// Keeps to another pace, if it keeps to one.
    ///
    /// - Parameter limit: pushes a second, at least 1.
    func setPace(_ limit: Int) {
        change { $0.pace?.setLimit(limit) }
    }

    /// How long the service wants to be left alone; `nil`: not at all.
    func rest(at now: Duration) -> Duration? { state.withLock { $0.congestion.rest(at: now) } }

    /// What the gate asks of those who take work from the store.
    struct Wish: Equatable {
        var crowd = CrowdedLanes.none
        /// What the service asked for, or its failures.
        var rest: HoldRest?
    }

    /// What is wanted of those who take work from the store.
    func wish(at now: Duration) -> Wish { state.withLock { $0.wish(at: now) } }

    /// Which lanes are crowded.
    var crowd: CrowdedLanes { state.withLock { $0.crowd } }

    /// Sets what is called after ``wish(at:)`` changed by anything but the passing of time, without a lock held.
    func onChange(_ body: @escaping @Sendable () -> Void) {
        changed.set(body)
    }

    /// Pushes that wait.
    var waiting: Int { state.withLock { $0.urgent.wanted + $0.normal.wanted } }

    /// Asks for up to `wanted` places, at least one.
    ///
    /// - Parameter isReturning: these are what was left when a part was granted. A caller that got a part comes back
    ///   with the rest: it counts in the crowd.
    func enter(_ wanted: Int, isUrgent: Bool, isReturning: Bool = false) async -> Entry {
        await withCheckedContinuation { continuation in
            let now = uptime()
            let (entry, isNews, wait) = state.withLock { state in
                let wish = state.wish(at: now)
                state.pace?.refill(at: now)
                let entry = enter(wanted, isUrgent: isUrgent, continuation, &state, at: now)
                let left =
                    switch entry {
                    case nil: wanted
                    case .granted(let count): wanted - count
                    case .held, .closed: 0
                    }
                state.noteOpen(left - (isReturning ? wanted : 0), isUrgent: isUrgent)
                return (entry, state.wish(at: now) != wish, state.wakeUp(at: now))
            }
            if let wait { wake(after: wait) }
            if let entry { continuation.resume(returning: entry) }
            if isNews { changed.call() }
        }
    }

    /// - Returns: the answer; `nil`: the caller waits in line.
    private func enter(
        _ wanted: Int, isUrgent: Bool, _ continuation: CheckedContinuation<Entry, Never>, _ state: inout Lines,
        at now: Duration
    ) -> Entry? {
        if state.isClosed { return .closed }
        if let rest = state.congestion.rest(at: now) { return .held(overload, after: rest) }
        let isFirst = state.urgent.waiters.isEmpty && (isUrgent || state.normal.waiters.isEmpty)
        if isFirst, state.room(isUrgent: isUrgent) > 0 {
            return .granted(state.grant(wanted, isUrgent: isUrgent))
        }
        if state.isWindingDown { return .closed }
        let waiter = Waiter(wanted: min(wanted, Self.waitingLimit), all: wanted, continuation: continuation)
        let isIn = isUrgent ? Self.append(waiter, to: &state.urgent) : Self.append(waiter, to: &state.normal)
        return isIn ? nil : .held(state.refusal, after: Self.crowdedPause)
    }

    private static func append(_ waiter: Waiter, to line: inout Line) -> Bool {
        guard line.wanted + waiter.wanted <= waitingLimit else { return false }
        line.waiters.append(waiter)
        line.wanted += waiter.wanted
        return true
    }

    /// `count` pushes are back, `good` of them with an answer that does not speak of load.
    ///
    /// - Parameter overload: not `nil`: some answers said that the service is overloaded, and for how long it wants to
    ///   be left alone.
    func leave(_ count: Int, good: Int, overload: Overload? = nil) {
        let now = uptime()
        change { state in
            if let overload {
                state.congestion.overloaded(after: overload.after, at: now)
                if overload.isSlowed { state.congestion.slowedDown(at: now) }
                state.pace?.overloaded(at: now)
                state.refusal = self.overload
            }
            state.congestion.leave(count, good: good)
        }
    }

    /// What overloaded answers said.
    struct Overload: Hashable {
        /// The longest time that one asked for.
        var after: Duration?
        /// Whether one slowed this sender down without asking for a time.
        var isSlowed = false
    }

    /// A pause for this reason is over, or it is not clear whether there will be one: what comes now comes slowly.
    func restartSlowly(after refusal: Refusal) {
        change { state in
            state.congestion.restartSlowly()
            state.refusal = refusal
        }
    }

    /// Whether pushes would be held or turned away just now, whatever is in flight.
    func isShut(at now: Duration) -> Bool {
        state.withLock { $0.isClosed || $0.congestion.rest(at: now) != nil }
    }

    /// Admits no more pushes; those that wait are told so.
    func close() {
        change { $0.isClosed = true }
    }

    /// From now on pushes that find no room are told that the upstream is closed, instead of waiting; so are those that
    /// wait.
    func windDown() {
        change { $0.isWindingDown = true }
    }

    private func change(_ body: (inout Lines) -> Void) {
        let now = uptime()
        let (admitted, isNews, wait) = state.withLock { state in
            let wish = state.wish(at: now)
            state.pace?.refill(at: now)
            body(&state)
            let admitted = state.admit(at: now, overload: overload)
            return (admitted, state.wish(at: now) != wish, state.wakeUp(at: now))
        }
        if let wait { wake(after: wait) }
        for (waiter, entry) in admitted { waiter.resume(returning: entry) }
        if isNews { changed.call() }
    }

    /// Looks at the lines again after a while.
    ///
    /// A bridge from a synchronous call: there is one such task at a time, only while callers wait, and it sleeps for a
    /// second at most.
    private func wake(after wait: Duration) {
        Task { [weak self, sleep] in
            await sleep(wait)
            self?.change { $0.isWaking = false }
        }
    }
}
