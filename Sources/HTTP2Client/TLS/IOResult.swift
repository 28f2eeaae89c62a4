/// How a non-blocking call on a connection ended.
enum IOResult {
    /// It moved this many bytes; a handshake: is complete.
    case done(Int)
    /// The socket has nothing (more) to read.
    case wantsRead
    /// The socket takes nothing (more).
    case wantsWrite
    /// The peer closed its side in good order.
    case ended
    case failed(TransportFailure)
}
