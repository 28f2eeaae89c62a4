import COpenSSL

/// The TLS settings of a pool: owns the `SSL_CTX`.
///
/// @unchecked Sendable, because: the context is changed only in `init`, before anyone else has it; afterwards it is
/// only handed to `SSL_new`, which OpenSSL allows from any thread (the reference count is atomic, openssl-threads(7)).
@safe final class TLSContext: @unchecked Sendable {
    private let context: OpaquePointer
    private let bioMethod: OpaquePointer
    /// What the next connections may resume.
    let sessions = TLSSessions()
    fileprivate let keyLog: KeyLog?

    /// TLS 1.2 or later, ALPN h2, the peer's certificate must verify against `trust`.
    ///
    /// - Parameters:
    ///   - identity: what is shown when the peer asks for a certificate.
    ///   - keyLog: where the secrets of all connections go; `nil`: nowhere.
    convenience init(
        trust: TLSTrust, identity: TLSIdentity? = nil, keyLog: KeyLog? = nil
    ) throws(TransportFailure) {
        try self.init(.read(trust), identity, keyLog)
    }

    /// The same with the certificate authorities of another context, which both have from now on: they are read once.
    convenience init(
        sharing other: TLSContext, identity: TLSIdentity? = nil, keyLog: KeyLog? = nil
    ) throws(TransportFailure) {
        try self.init(.shared(other), identity, keyLog)
    }

    /// Where the certificate authorities come from.
    private enum Authorities {
        case read(TLSTrust)
        case shared(TLSContext)
    }

    private init(
        _ authorities: Authorities, _ identity: TLSIdentity?, _ keyLog: KeyLog?
    ) throws(TransportFailure) {
        OpenSSLErrors.clear()
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw TransportFailure(.tlsFailed, "SSL_CTX_new: \(OpenSSLErrors.drain())")
        }
        guard let bioMethod = unsafe SocketLink.makeMethod() else {
            unsafe SSL_CTX_free(context)
            throw TransportFailure(.tlsFailed, "BIO_meth_new: \(OpenSSLErrors.drain())")
        }
        unsafe self.context = context
        unsafe self.bioMethod = bioMethod
        self.keyLog = keyLog
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        unsafe herald_SSL_CTX_forbid_renegotiation(context)
        // One recv brings as many records as there are; a write may be cut at a record and repeated from a moved buffer.
        unsafe herald_SSL_CTX_set_read_ahead(context, 1)
        unsafe SSL_CTX_set_default_read_buffer_len(context, 65_536)
        unsafe herald_SSL_CTX_set_mode(
            context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        let protocols: [UInt8] = [2, 0x68, 0x32]
        guard unsafe herald_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1,
            unsafe SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0
        else { throw TransportFailure(.tlsFailed, "TLS set-up: \(OpenSSLErrors.drain())") }
        switch authorities {
        case .read(let trust): try load(trust)
        case .shared(let other):
            // With a reference of its own. The store is not changed any more, and takes its own lock for what is looked up
            // (X509_STORE_new(3)).
            unsafe SSL_CTX_set1_cert_store(context, SSL_CTX_get_cert_store(other.context))
        }
        if let identity { unsafe try identity.install(in: context) }
        keepSessions()
        // OpenSSL gives the secrets away only if an operator asked for it.
        if keyLog != nil { unsafe SSL_CTX_set_keylog_callback(context, secretDerived) }
    }

    /// Whether OpenSSL gives the secrets of connections away.
    var tellsSecrets: Bool { unsafe SSL_CTX_get_keylog_callback(context) != nil }

    /// The sessions come to us, not into OpenSSL's cache, which a client never looks into.
    private func keepSessions() {
        unsafe herald_SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        // Not retained: a connection holds on to its context, so that callbacks find it alive.
        unsafe herald_SSL_CTX_set_owner(context, Unmanaged.passUnretained(self).toOpaque())
        unsafe SSL_CTX_sess_set_new_cb(context, sessionCame)
    }

    deinit {
        unsafe SSL_CTX_free(context)
        unsafe BIO_meth_free(bioMethod)
    }

    /// Whether both have the same certificate authorities.
    func sharesTrust(with other: TLSContext) -> Bool {
        unsafe SSL_CTX_get_cert_store(context) == SSL_CTX_get_cert_store(other.context)
    }

    private func load(_ trust: TLSTrust) throws(TransportFailure) {
        switch trust {
        case .system:
            guard unsafe SSL_CTX_set_default_verify_paths(context) == 1 else {
                throw TransportFailure(.tlsFailed, "the system's certificate authorities: \(OpenSSLErrors.drain())")
            }
        case .file(let path):
            guard unsafe SSL_CTX_load_verify_file(context, path) == 1 else {
                throw TransportFailure(.tlsFailed, "certificate authorities in \(path): \(OpenSSLErrors.drain())")
            }
        }
        // Not finding a directory of certificates is no error of this call, but leaves an entry.
        OpenSSLErrors.clear()
    }

    /// Makes the `SSL` of one connection; the caller frees it, before the context goes.
    func makeConnection() -> OpaquePointer? { unsafe SSL_new(context) }

    /// Makes the `BIO` of one connection, which gives it to its `SSL`.
    func makeBIO() -> OpaquePointer? { unsafe BIO_new(bioMethod) }
}

/// The context behind a callback's connection.
private func owner(of ssl: OpaquePointer?) -> TLSContext? {
    guard let context = unsafe SSL_get_SSL_CTX(ssl), let owner = unsafe herald_SSL_CTX_owner(context) else {
        return nil
    }
    return unsafe Unmanaged<TLSContext>.fromOpaque(owner).takeUnretainedValue()
}

/// The peer gave a session: 0 leaves it with OpenSSL, as only a copy is kept.
private func sessionCame(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let owner = unsafe owner(of: ssl) else { return 0 }
    let length = unsafe i2d_SSL_SESSION(session, nil)
    guard length > 0 else { return 0 }
    let isSingleUse = unsafe SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION
    owner.sessions.add(
        TLSSessions.Session(count: Int(length), isSingleUse: isSingleUse) { buffer in
            var start = buffer.baseAddress
            _ = unsafe i2d_SSL_SESSION(session, &start)
        })
    return 0
}

/// A secret of a connection became known.
private func secretDerived(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    guard let line = unsafe line else { return }
    unsafe owner(of: ssl)?.keyLog?.append(line)
}
