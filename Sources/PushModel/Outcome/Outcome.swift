/// What became of one attempt to push. Each attempt ends in exactly one.
package enum Outcome: Hashable, Sendable {
    /// The service took it. Not "delivered": only the device can say that.
    case accepted
    /// The service refused it for good.
    case rejected(Refusal)
    /// The service or a pause says: later. `after`: how long to wait at least, when the answer said so.
    case throttled(Refusal, after: Duration?)
    /// Provably not processed: may be repeated freely.
    case notSent(TransportCause)
    /// Sent, and no answer came: a repeat may be a duplicate.
    case unknown(TransportCause)
}

/// Why a push got no answer.
package struct TransportCause: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// A short stable name, usable as a metric label.
    package let rawValue: String

    /// Takes a name: lower-case words joined by `_`.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The name.
    package var description: String { rawValue }

    /// No connection could be made.
    package static let connectFailed = TransportCause(rawValue: "connect_failed")
    /// The peer's certificate or TLS version was not acceptable.
    package static let tlsFailed = TransportCause(rawValue: "tls_failed")
    /// The connection broke.
    package static let connectionLost = TransportCause(rawValue: "connection_lost")
    /// The peer refused the stream (RST_STREAM REFUSED_STREAM, or beyond GOAWAY's last stream).
    package static let refused = TransportCause(rawValue: "refused")
    /// The peer reset the stream.
    package static let reset = TransportCause(rawValue: "reset")
    /// The deadline passed.
    package static let timedOut = TransportCause(rawValue: "timed_out")
    /// The gateway is stopping.
    package static let shutdown = TransportCause(rawValue: "shutdown")
    /// The app has no upstream configured (any more).
    package static let noRoute = TransportCause(rawValue: "no_route")
    /// The peer broke the protocol.
    package static let protocolError = TransportCause(rawValue: "protocol_error")
    /// OpenSSL could not sign a provider token.
    package static let signingFailed = TransportCause(rawValue: "signing_failed")
    /// The gateway ended before the answer was recorded; the push may have been sent.
    package static let interrupted = TransportCause(rawValue: "interrupted")

    /// The gateway had no contact with the store for so long that another one may have the push by now.
    package static let leaseOver = TransportCause(rawValue: "lease_over")

    /// Every cause that the gateway itself gives.
    package static let known: [TransportCause] = [
        connectFailed, tlsFailed, connectionLost, refused, reset, timedOut, shutdown, noRoute, protocolError,
        signingFailed, interrupted, leaseOver,
    ]
}
