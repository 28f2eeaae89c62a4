import CLinux
import Glibc
import Synchronization

/// Starts a detached thread.
///
/// All signals are blocked on it: they belong to the threads that expect them.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(TransportFailure) {
    final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    defer { unsafe pthread_attr_destroy(&attributes) }
    // The retain is taken over by the new thread; if there is none, it is given back below.
    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread, &attributes,
        { argument in
            guard let argument = unsafe argument else { return nil }
            let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
            var signals = sigset_t()
            unsafe sigfillset(&signals)
            unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
            // The kernel keeps 15 bytes of a thread's name.
            unsafe herald_name_thread(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    guard code == 0 else {
        unsafe start.release()
        throw TransportFailure(.connectFailed, "pthread_create: \(systemError(code))")
    }
}

/// Something that happens once and can be waited for.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Lets everybody through, now and later.
    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once ``open()`` was called.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
