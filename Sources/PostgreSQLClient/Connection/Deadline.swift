import Glibc

/// The end of a wait, on the monotonic clock.
struct Deadline {
    private let end: ContinuousClock.Instant

    /// In `duration` from now on.
    init(in duration: Duration) {
        end = .now + duration
    }

    /// Whether it is over.
    var isOver: Bool { ContinuousClock.now >= end }

    /// What is left, for poll(2): rounded up, so that it does not wake before.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = (end - .now).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// What a socket is waited for.
struct SocketInterest: OptionSet {
    let rawValue: Int16

    static let readable = SocketInterest(rawValue: Int16(POLLIN))
    static let writable = SocketInterest(rawValue: Int16(POLLOUT))
}

/// Waits for a socket.
///
/// - Returns: whether it is ready, or failed, which shows when it is used; otherwise the time is over.
func wait(for descriptor: Int32, _ interest: SocketInterest, until deadline: Deadline) -> Bool {
    wait(for: [(descriptor, interest)], until: deadline)
}

/// Waits for one of several sockets.
func wait(for sockets: [(descriptor: Int32, interest: SocketInterest)], until deadline: Deadline) -> Bool {
    var entries = sockets.map { pollfd(fd: $0.descriptor, events: $0.interest.rawValue, revents: 0) }
    while true {
        let count = unsafe poll(&entries, nfds_t(entries.count), deadline.milliseconds)
        if count > 0 { return true }
        if count == 0, deadline.isOver { return false }
        // Interrupted by a signal, or a little early.
        if count < 0, errno != EINTR { return true }
    }
}
