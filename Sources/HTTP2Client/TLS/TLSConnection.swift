import COpenSSL
import Glibc

/// TLS on a connected socket: owns the `SSL` and, through it, the `BIO`; holds on to the socket.
///
/// The `BIO` is our own, straight over `recv` and `send`: bytes are encrypted into OpenSSL's record buffer and go from
/// there to the kernel without another copy, and `MSG_NOSIGNAL` keeps a lost peer from killing the process by SIGPIPE.
///
/// Loop-confined.
@safe final class TLSConnection {
    private let ssl: OpaquePointer
    /// Shared with the BIO; freed after it.
    private let link: UnsafeMutablePointer<SocketLink>
    /// Kept, because the BIO's functions belong to it.
    private let context: TLSContext
    private let socket: Socket
    private let serverName: String
    /// Name and address, for messages.
    private let peer: String
    private var isEstablished = false
    private var isBroken = false

    /// Prepares a client connection whose peer must show a certificate for `serverName` (a name or an IP address).
    ///
    /// - Parameter peer: whom messages name.
    init(context: TLSContext, socket: Socket, serverName: String, peer: String) throws(TransportFailure) {
        OpenSSLErrors.clear()
        guard let ssl = unsafe context.makeConnection() else {
            throw TransportFailure(.tlsFailed, "SSL_new: \(OpenSSLErrors.drain())")
        }
        unsafe self.ssl = ssl
        unsafe link = UnsafeMutablePointer<SocketLink>.allocate(capacity: 1)
        unsafe link.initialize(to: SocketLink(descriptor: socket.descriptor))
        self.context = context
        self.socket = socket
        self.serverName = serverName
        self.peer = peer
        guard let bio = unsafe context.makeBIO() else {
            throw TransportFailure(.tlsFailed, "BIO_new: \(OpenSSLErrors.drain())")
        }
        unsafe BIO_set_data(bio, link)
        unsafe BIO_set_init(bio, 1)
        // SSL_set_bio takes over the one reference when both sides are the same BIO.
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe SSL_set_connect_state(ssl)
        try expect(serverName)
        offerSession()
    }

    deinit {
        unsafe SSL_free(ssl)
        unsafe link.deallocate()
    }

    /// SNI must not hold an address (RFC 6066 §3); an address is compared with the certificate's IP entries.
    private func expect(_ name: String) throws(TransportFailure) {
        guard let parameters = unsafe SSL_get0_param(ssl) else {
            throw TransportFailure(.tlsFailed, "no verification parameters")
        }
        let isSet: Bool
        if SocketAddress.isAddress(name) {
            isSet = unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1
        } else {
            unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            isSet =
                unsafe X509_VERIFY_PARAM_set1_host(parameters, name, 0) == 1
                && herald_SSL_set_tlsext_host_name(ssl, name) == 1
        }
        guard isSet else { throw TransportFailure(.tlsFailed, "server name \(name): \(OpenSSLErrors.drain())") }
    }

    /// A session that does not fit any more is refused by the peer, and the handshake is a full one.
    private func offerSession() {
        guard let offered = context.sessions.take() else { return }
        offered.withBytes { der in
            unsafe der.withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                let session = unsafe d2i_SSL_SESSION(nil, &start, bytes.count)
                // The connection has its own reference then.
                unsafe SSL_set_session(ssl, session)
                unsafe SSL_SESSION_free(session)
            }
        }
        OpenSSLErrors.clear()
    }

    /// Whether the session of an earlier connection was resumed.
    var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// Goes on with the handshake. Done means: the certificate verified and the peer chose h2.
    func handshake() -> IOResult {
        OpenSSLErrors.clear()
        let code = unsafe SSL_do_handshake(ssl)
        guard code == 1 else {
            let result = failure(code, "TLS handshake with \(peer)", .tlsFailed)
            if case .failed = result { context.sessions.forget() }
            return result
        }
        isEstablished = true
        var selected: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &selected, &length)
        let name = unsafe UnsafeBufferPointer(start: selected, count: Int(length))
        guard unsafe name.elementsEqual([0x68, 0x32]) else {
            let text = unsafe name.isEmpty ? "no protocol" : String(decoding: name, as: UTF8.self)
            return .failed(
                TransportFailure(.tlsFailed, "\(peer) does not speak HTTP/2: ALPN gave \(text)", lacksHTTP2: true))
        }
        return .done(0)
    }

    /// The socket was reported readable: the next read asks the kernel again.
    func noteReadable() {
        unsafe link.pointee.isDrained = false
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        OpenSSLErrors.clear()
        let count = unsafe SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        return count > 0 ? .done(Int(count)) : failure(count, "read from \(peer)", .connectionLost)
    }

    /// Writes one record at most. After `wantsWrite` the same bytes must be given again.
    func write(_ bytes: UnsafeRawBufferPointer) -> IOResult {
        OpenSSLErrors.clear()
        let count = unsafe SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count))
        return count > 0 ? .done(Int(count)) : failure(count, "write to \(peer)", .connectionLost)
    }

    /// Bytes given to the socket so far.
    var bytesSent: Int64 { unsafe link.pointee.sent }

    /// Tells the peer that nothing more comes, if the connection still stands; does not wait for its answer.
    func sendCloseNotify() {
        // SSL_shutdown must not be called before the handshake or after a fatal error, SSL_shutdown(3).
        guard isEstablished, !isBroken else { return }
        OpenSSLErrors.clear()
        unsafe SSL_shutdown(ssl)
        OpenSSLErrors.clear()
    }

    private func failure(_ code: Int32, _ step: String, _ kind: TransportFailure.Kind) -> IOResult {
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL:
            isBroken = true
            let systemCode = unsafe link.pointee.failure
            let text = systemCode == 0 ? "the peer closed the connection without notice" : systemError(systemCode)
            OpenSSLErrors.clear()
            return .failed(TransportFailure(kind, "\(step): \(text)"))
        case let other:
            isBroken = true
            // The alert of a server that has none of the protocols offered (RFC 7301 §3.2).
            let text = details(other)
            let lacksHTTP2 = !isEstablished && text.contains("alert no application protocol")
            return .failed(TransportFailure(kind, "\(step): \(text)", lacksHTTP2: lacksHTTP2))
        }
    }

    private func details(_ error: Int32) -> String {
        var text = OpenSSLErrors.drain()
        let verification = unsafe SSL_get_verify_result(ssl)
        if verification != Int(X509_V_OK), let words = unsafe X509_verify_cert_error_string(verification) {
            text += " (\(unsafe String(cString: words)))"
        }
        return error == SSL_ERROR_SSL ? text : "\(text) (SSL error \(error))"
    }
}
