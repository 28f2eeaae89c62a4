import Synchronization

/// The TLS sessions that a pool's next connections may resume: the last few tickets, newest first out.
///
/// Kept in DER, not as OpenSSL's objects: a value that any loop thread may use.
final class TLSSessions: Sendable {
    /// A session in DER.
    struct Session: Sendable, Equatable {
        let bytes: [UInt8]
        /// TLS 1.3 tickets are used once, so that nobody can link connections by them (RFC 8446 §C.4); the session of
        /// TLS 1.2 serves until the peer gives another.
        let isSingleUse: Bool
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
