import PushModel
import Synchronization

/// The routes that are held, as a snapshot that is made anew with each change, and whom to tell.
///
/// Lock order: this one, then the sender's ways, then the upstream's.
final class HeldRoutes: Sendable {
    private struct State {
        var rests: [PushRoute: HoldRest] = [:]
        var changed: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Sets what is called after a change, without a lock held.
    func onChange(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.changed = body }
    }

    /// The snapshot, with times counted from `now`.
    func routes(at now: () -> Duration) -> [PushRoute: HeldRoute] {
        let rests = state.withLock { $0.rests }
        if rests.isEmpty { return [:] }
        let now = now()
        return rests.compactMapValues { $0.route(at: now) }
    }

    /// Makes the snapshot anew; calls of this follow one another, so that the last one has the last word.
    func update(_ read: () -> [PushRoute: HoldRest]) {
        let changed: (@Sendable () -> Void)? = state.withLock { state in
            let rests = read()
            guard rests != state.rests else { return nil }
            state.rests = rests
            return state.changed
        }
        changed?()
    }
}
