import Synchronization

/// A callback that is set after the objects that call it were made. Safe to share.
final class ChangeCallback: Sendable {
    private let body = Mutex<(@Sendable () -> Void)?>(nil)

    /// Sets what is called from now on.
    func set(_ body: @escaping @Sendable () -> Void) {
        self.body.withLock { $0 = body }
    }

    /// Calls what was set last, without a lock held.
    func call() {
        let body = body.withLock { $0 }
        body?()
    }
}
