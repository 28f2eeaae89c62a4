import PushModel
import Synchronization

/// Hands the routes that the sender holds to the lanes.
final class HeldRouteReader: Sendable {
    private enum State {
        /// No call reads. Next: reading.
        case idle
        /// A call reads and applies. Next: idle, or stale when they change meanwhile.
        case reading
        /// They changed while a call reads: it reads again. Next: reading.
        case stale
    }

    private let sender: any PushSender
    private let gates: [LaneGate]
    private let notifier: RouteNotifier
    private let wallTime: WallTime
    private let state = Mutex(State.idle)

    init(
        of sender: any PushSender, for gates: [LaneGate], notifying notifier: RouteNotifier,
        wallTime: @escaping WallTime
    ) {
        self.sender = sender
        self.notifier = notifier
        self.gates = gates
        self.wallTime = wallTime
    }

    /// Reads now, and after each change.
    func start() {
        sender.onHeldRoutesChange { [weak self] in self?.read() }
        read()
    }

    /// One call at a time reads and applies, so that what was read first never comes last; a change meanwhile has it read
    /// again. No call waits for another: the sender may call from anywhere.
    private func read() {
        let isFirst = state.withLock { state in
            defer { state = state == .idle ? .reading : .stale }
            return state == .idle
        }
        guard isFirst else { return }
        var isStale = true
        while isStale {
            let (routes, now) = (sender.heldRoutes, wallTime())
            for gate in gates { gate.hold(routes, at: now) }
            notifier.hold(routes)
            isStale = state.withLock { state in
                defer { state = state == .stale ? .reading : .idle }
                return state == .stale
            }
        }
    }
}
