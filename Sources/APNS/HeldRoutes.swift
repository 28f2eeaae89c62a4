import PushModel
import Synchronization

/// The routes that are held, as a snapshot that is made anew with each change, and whom to tell.
///
/// Lock order: this one, then the sender's ways, then the upstream's.
final class HeldRoutes: Sendable {
    private struct State {
        var rests: [PushRoute: UpstreamHold.Rest] = [:]
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
    func update(_ read: () -> [PushRoute: UpstreamHold.Rest]) {
        let changed: (@Sendable () -> Void)? = state.withLock { state in
            let rests = read()
            guard rests != state.rests else { return nil }
            state.rests = rests
            return state.changed
        }
        changed?()
    }
}

/// A bell that whoever is told is hung on later: pools are made before their upstream.
final class Bell: Sendable {
    private let body = Mutex<(@Sendable () -> Void)?>(nil)

    /// Rings from now on for `body`, instead of whom it rang for before.
    func hang(_ body: @escaping @Sendable () -> Void) {
        self.body.withLock { $0 = body }
    }

    func ring() {
        let body = body.withLock { $0 }
        body?()
    }
}
