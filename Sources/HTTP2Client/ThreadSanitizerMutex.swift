#if HERALD_THREAD_SANITIZER
    import Glibc

    /// Takes the place of `Synchronization.Mutex` in this module (and, by links to this file, in Store,
    /// SQLStorage, SQLiteStorage, Traces, Delivery, Links and what their tests share) when it is built for the thread sanitizer: on Linux that
    /// one is a futex of the standard library's own, which the sanitizer does not know, so that everything it guards looks
    /// like a race. This one is a pthread mutex, which it does know: real races stay visible, and no report is suppressed.
    ///
    /// Same use as the original, as far as this module and its tests need it. Never part of a product.
    ///
    /// @unchecked Sendable, because: `value` is reached only in ``withLock(_:)``, whose lock one thread holds at a time,
    /// and in `deinit`, when the mutex has no other owner.
    @safe struct Mutex<Value>: ~Copyable, @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        init(_ value: consuming sending Value) {
            unsafe lock = .allocate(capacity: 1)
            unsafe lock.initialize(to: pthread_mutex_t())
            unsafe pthread_mutex_init(lock, nil)
            unsafe self.value = .allocate(capacity: 1)
            unsafe self.value.initialize(to: value)
        }

        deinit {
            unsafe pthread_mutex_destroy(lock)
            unsafe lock.deallocate()
            unsafe value.deinitialize(count: 1)
            unsafe value.deallocate()
        }

        borrowing func withLock<Result, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            unsafe pthread_mutex_lock(lock)
            defer { unsafe pthread_mutex_unlock(lock) }
            return try unsafe body(&value.pointee)
        }
    }
#endif
