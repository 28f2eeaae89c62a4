#if canImport(os)
    import os

    /// A value behind a lock. Synchronization's `Mutex` would ask for iOS 18; apps run on older ones.
    struct Locked<Value: Sendable>: Sendable {
        private let lock: OSAllocatedUnfairLock<Value>

        init(_ value: Value) { lock = OSAllocatedUnfairLock(initialState: value) }

        func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
            lock.withLock(body)
        }
    }
#else
    import Synchronization

    /// A value behind a lock, for systems without Apple's.
    final class Locked<Value: Sendable>: Sendable {
        private let mutex: Mutex<Value>

        init(_ value: Value) { mutex = Mutex(value) }

        func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
            mutex.withLock { body(&$0) }
        }
    }
#endif
