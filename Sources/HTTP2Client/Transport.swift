/// The way to one address: socket, TLS, and their place in epoll. No HTTP.
///
/// Loop-confined; ``close()`` ends it, as does losing the last reference.
final class Transport {
    /// How far it is.
    enum Progress {
        /// Waiting for the socket.
        case pending
        /// TCP stands, TLS begins with the next ``advance()``.
        case connected
        /// TLS stands.
        case established
        /// TCP failed: another address may do better.
        case addressFailed(TransportFailure)
        /// TLS failed.
        case failed(TransportFailure)
    }

    private enum Phase {
        /// Next: connected.
        case connecting
        /// Next: established.
        case handshaking(TLSConnection)
        /// Next: closed.
        case established(TLSConnection)
        /// Next: nothing.
        case closed
    }

    private let id: ConnectionID
    private let epoll: Epoll
    private let address: SocketAddress
    private let socket: Socket
    private var phase = Phase.connecting
    private var finalBytesSent: Int64 = 0
    private var interest = Epoll.Interest.writable

    /// Begins to connect to `address`; events come under `id`.
    init(
        to address: SocketAddress, id: ConnectionID, epoll: Epoll, unacknowledgedLimit: Duration
    ) throws(TransportFailure) {
        self.id = id
        self.epoll = epoll
        self.address = address
        socket = try Socket(for: address, unacknowledgedLimit: unacknowledgedLimit)
        // Also when it is connected at once: the socket is writable then, and the first event says so.
        _ = try socket.connect(to: address)
        try epoll.add(socket.descriptor, id: id.value, interest)
    }

    /// The socket was reported ready while connecting.
    func finishConnecting(context: TLSContext, serverName: String) -> Progress {
        do throws(TransportFailure) {
            try socket.finishConnecting(to: address)
        } catch {
            return .addressFailed(error)
        }
        do throws(TransportFailure) {
            phase = .handshaking(try TLSConnection(context: context, socket: socket, serverName: serverName))
            return .connected
        } catch {
            return .failed(error)
        }
    }

    /// Goes on with what is under way, after the socket was reported ready.
    func advance(context: TLSContext, serverName: String) -> Progress {
        switch phase {
        case .connecting: return finishConnecting(context: context, serverName: serverName)
        case .handshaking(let tls):
            tls.noteReadable()
            switch tls.handshake() {
            case .done:
                phase = .established(tls)
                return watch(.readable) ?? .established
            case .wantsRead: return watch(.readable) ?? .pending
            case .wantsWrite: return watch([.readable, .writable]) ?? .pending
            case .ended: return .failed(TransportFailure(.tlsFailed, "\(address): closed during the TLS handshake"))
            case .failed(let failure): return .failed(failure)
            }
        case .established, .closed: return .established
        }
    }

    private func watch(_ interest: Epoll.Interest) -> Progress? {
        do throws(TransportFailure) {
            try setInterest(interest)
            return nil
        } catch {
            return .failed(error)
        }
    }

    private func setInterest(_ interest: Epoll.Interest) throws(TransportFailure) {
        guard interest != self.interest else { return }
        self.interest = interest
        try epoll.change(socket.descriptor, id: id.value, interest)
    }

    /// The socket was reported readable.
    func noteReadable() {
        if case .established(let tls) = phase { tls.noteReadable() }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSConnection.Result {
        guard case .established(let tls) = phase else { return .wantsRead }
        return unsafe tls.read(into: buffer)
    }

    /// Writes up to one record of `output`; asks to be woken when the socket is full.
    func write(_ output: borrowing OutputBuffer) -> TLSConnection.Result {
        guard case .established(let tls) = phase else { return .wantsWrite }
        return unsafe output.withRecord { unsafe tls.write($0) }
    }

    /// Bytes given to the socket so far.
    var bytesSent: Int64 {
        switch phase {
        case .handshaking(let tls), .established(let tls): tls.bytesSent
        case .connecting: 0
        case .closed: finalBytesSent
        }
    }

    /// Whether TCP is not up yet.
    var isConnecting: Bool {
        if case .connecting = phase { true } else { false }
    }

    /// Whether to be woken when the socket takes bytes again.
    func awaitRoom(_ isWanted: Bool) throws(TransportFailure) {
        try setInterest(isWanted ? [.readable, .writable] : .readable)
    }

    /// Leaves epoll and closes. Idempotent.
    func close() {
        switch phase {
        case .established(let tls):
            tls.sendCloseNotify()
            finalBytesSent = tls.bytesSent
        case .connecting, .handshaking: break
        case .closed: return
        }
        phase = .closed
        do {
            try epoll.remove(socket.descriptor)
        } catch {
            // Closing the only descriptor of the socket takes it out of epoll as well.
        }
        socket.shut()
    }

    deinit { close() }
}
