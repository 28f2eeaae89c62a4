/// A socket on its way to an address, or connected to it, with its place in epoll.
///
/// All sockets of a connection are watched under the connection's id: who is woken looks at each of them.
///
/// Loop-confined; ``close()`` ends it, as does losing the last reference.
final class WatchedSocket {
    let socket: Socket
    let address: SocketAddress
    private let id: ConnectionID
    private let epoll: Epoll
    private var interest = Epoll.Interest.writable

    /// Begins to connect to `address`; events come under `id`.
    init(
        to address: SocketAddress, id: ConnectionID, epoll: Epoll, unacknowledgedLimit: Duration
    ) throws(TransportFailure) {
        self.address = address
        self.id = id
        self.epoll = epoll
        socket = try Socket(for: address, unacknowledgedLimit: unacknowledgedLimit)
        // Also when it is connected at once: the socket is writable then, and the first event says so.
        try socket.connect(to: address)
        try epoll.add(socket.descriptor, id: id.value, interest)
    }

    /// Whether TCP stands; throws why it never will.
    func isConnected() throws(TransportFailure) -> Bool {
        try socket.isConnected(to: address)
    }

    /// What to be woken by from now on.
    func watch(_ interest: Epoll.Interest) throws(TransportFailure) {
        guard interest != self.interest else { return }
        self.interest = interest
        try epoll.change(socket.descriptor, id: id.value, interest)
    }

    /// Leaves epoll and closes. Idempotent.
    func close() {
        guard socket.descriptor >= 0 else { return }
        do {
            try epoll.remove(socket.descriptor)
        } catch {
            // Closing the only descriptor of the socket takes it out of epoll as well.
        }
        socket.shut()
    }

    deinit { close() }
}
