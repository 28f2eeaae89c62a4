import Foundation

/// A value behind a lock. Synchronization's `Mutex` would ask for iOS 18; apps with links run on older ones.
///
/// @unchecked Sendable, because: `value` is reached only in ``withLock(_:)``, whose lock one thread holds at a time, and
/// what goes in and out is Sendable.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        lock.withLock { body(&value) }
    }
}
