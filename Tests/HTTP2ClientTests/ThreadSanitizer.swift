#if HERALD_THREAD_SANITIZER
    @testable import HTTP2Client

    /// The tests' own locks must be visible to the thread sanitizer, too.
    typealias Mutex<Value> = HTTP2Client.Mutex<Value>
#endif
