import Synchronization

/// Whether the session that writes has to be given a connection by one that reads: a server that has none left, or a
/// limit of connections, would otherwise leave all of them to the readers, which come first, and nothing could be written.
final class WriterPlace: Sendable {
    private enum State {
        /// The writer is connected, or was not refused for lack of connections. Next: wanted.
        case settled
        /// The writer was refused; no reader has made room yet. Next: offered, settled.
        case wanted
        /// A reader has closed its connection; the writer has not tried again yet. Next: settled, wanted.
        case offered
    }

    private let state = Mutex(State.settled)

    /// The writer was refused because there are too many connections.
    func want() { state.withLock { $0 = .wanted } }

    /// The writer is connected, or what keeps it from connecting is something else.
    func settle() { state.withLock { $0 = .settled } }

    /// Whether readers are to make no new connections.
    var isReserved: Bool { state.withLock { $0 != .settled } }

    /// Whether the reader that asks is the one that closes its connection.
    func take() -> Bool {
        state.withLock { state in
            guard state == .wanted else { return false }
            state = .offered
            return true
        }
    }
}
