/// The way to the peer once TCP stands: TLS, and the socket's place in epoll. No HTTP.
///
/// Loop-confined; ``close()`` ends it, as does losing the last reference.
final class Transport {
    private enum TransportPhase {
        /// Next: established, closed.
        case handshaking(TLSConnection)
        /// Next: closed.
        case established(TLSConnection)
        /// Next: nothing.
        case closed
    }

    private let socket: WatchedSocket
    private var phase: TransportPhase
    private var finalBytesSent: Int64 = 0
    /// Whether the TLS session of an earlier connection was resumed.
    private(set) var isResumed = false

    /// Takes over a socket that is connected; TLS begins with ``handshake()``.
    ///
    /// - Parameter name: the peer's name, for SNI and the certificate.
    init(over socket: WatchedSocket, context: TLSContext, serverName name: String) throws(TransportFailure) {
        self.socket = socket
        phase = .handshaking(
            try TLSConnection(
                context: context, socket: socket.socket, serverName: name, peer: "\(name) (\(socket.address))"))
    }

    /// Goes on with the handshake, after the socket was reported ready; `true`: TLS stands.
    func handshake() throws(TransportFailure) -> Bool {
        guard case .handshaking(let tls) = phase else { return true }
        tls.noteReadable()
        switch tls.handshake() {
        case .done:
            phase = .established(tls)
            isResumed = tls.isResumed
            try socket.watch(.readable)
            return true
        case .wantsRead: try socket.watch(.readable)
        case .wantsWrite: try socket.watch([.readable, .writable])
        case .ended: throw TransportFailure(.tlsFailed, "\(socket.address): closed during the TLS handshake")
        case .failed(let failure): throw failure
        }
        return false
    }

    /// The socket was reported readable.
    func noteReadable() {
        if case .established(let tls) = phase { tls.noteReadable() }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        guard case .established(let tls) = phase else { return .wantsRead }
        return unsafe tls.read(into: buffer)
    }

    /// Writes up to one record of `output`; asks to be woken when the socket is full.
    func write(_ output: borrowing OutputBuffer) -> IOResult {
        guard case .established(let tls) = phase else { return .wantsWrite }
        return unsafe output.withRecord { unsafe tls.write($0) }
    }

    /// Bytes given to the socket so far.
    var bytesSent: Int64 {
        switch phase {
        case .handshaking(let tls), .established(let tls): tls.bytesSent
        case .closed: finalBytesSent
        }
    }

    /// Whether to be woken when the socket takes bytes again.
    func awaitRoom(_ isWanted: Bool) throws(TransportFailure) {
        try socket.watch(isWanted ? [.readable, .writable] : .readable)
    }

    /// Leaves epoll and closes. Idempotent.
    func close() {
        switch phase {
        case .established(let tls): tls.sendCloseNotify()
        case .handshaking: break
        case .closed: return
        }
        finalBytesSent = bytesSent
        phase = .closed
        socket.close()
    }

    deinit { close() }
}
