/// How far a ``Dialer`` is.
enum DialProgress {
    /// Waiting for a socket, or for ``delayPassed(now:)``.
    case pending
    /// TCP stands, through the proxy if there is one; TLS begins with the next ``advance(now:)``.
    case connected
    /// TLS stands. The transport is the caller's now.
    case established(Transport)
    /// It did not come about.
    case failed(TransportFailure)
}
