import COpenSSL
import Synchronization

/// The TLS sessions that a pool's next connections may resume: the last few tickets, newest first out.
///
/// Kept in DER, not as OpenSSL's objects: a value that any loop thread may use.
final class TLSSessions: Sendable {
    /// A session in DER: with it and its traffic the connection that resumes it can be read, so it is overwritten when the
    /// last reference goes.
    final class Session: Sendable {
        // Never copied out of the lock, so that there is only this one buffer to overwrite.
        private let der: Mutex<[UInt8]>
        /// TLS 1.3 tickets are used once, so that connections can't be linked by them (RFC 8446 §C.4); the session of
        /// TLS 1.2 serves until the peer gives another.
        let isSingleUse: Bool

        /// Takes `count` bytes that `fill` writes.
        @safe init(count: Int, isSingleUse: Bool, _ fill: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
            der = Mutex(
                unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                    unsafe buffer.initialize(repeating: 0)
                    unsafe fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
                    initialized = count
                })
            self.isSingleUse = isSingleUse
        }

        /// Lends the bytes. `body` must not call back.
        func withBytes(_ body: (Span<UInt8>) -> Void) {
            der.withLock { body($0.span) }
        }

        deinit {
            der.withLock { bytes in
                unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
            }
        }
    }

    /// The most that are kept; the oldest goes first.
    static let limit = 8

    private let sessions = Mutex<[Session]>([])

    /// The peer gave a session.
    func add(_ session: Session) {
        sessions.withLock { sessions in
            if !session.isSingleUse { sessions.removeAll() }
            if sessions.count == Self.limit { sessions.removeFirst() }
            sessions.append(session)
        }
    }

    /// The session that the next connection offers.
    func take() -> Session? {
        sessions.withLock { sessions in
            guard let last = sessions.last else { return nil }
            if last.isSingleUse { sessions.removeLast() }
            return last
        }
    }

    /// Offers none of them again: a handshake failed, and they may be why.
    func forget() { sessions.withLock { $0.removeAll() } }

    /// How many are kept.
    var count: Int { sessions.withLock { $0.count } }
}
