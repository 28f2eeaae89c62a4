/// Why a push service refused a push, or wants it later: its word for it and what it is about. Each service has one table
/// that makes refusals of its answers; what is decided from then on reads the ``scope`` alone.
package struct Refusal: Hashable, Sendable {
    /// The service's word as it came; the closest one when it gave none.
    package let reason: Reason
    /// The value of the label `reason` in metrics: the word as the table spells it, ``unknownLabel`` when it has none, so
    /// that labels stay few whatever a peer answers.
    package let label: String
    /// What it is about.
    package let scope: Scope
    /// For about how long the push waits after the first such answer, half more or less by chance; the wait doubles with
    /// each attempt, up to ten minutes. `nil`: as the scope says.
    package let firstWait: Duration?

    /// The label of every reason that no table has.
    package static let unknownLabel = "other"

    /// Describes a refusal.
    ///
    /// - Parameter label: `nil`: the reason's own word, which is one of a table then.
    package init(_ reason: Reason, _ scope: Scope, label: String? = nil, firstWait: Duration? = nil) {
        self.firstWait = firstWait
        self.reason = reason
        self.label = label ?? reason.rawValue
        self.scope = scope
    }
}

extension Refusal {
    /// What a refusal is about: as far as other pushes would meet it too, and whether it passes.
    package enum Scope: Hashable, Sendable {
        /// This push: others of another message may pass. Final.
        case push(Part)
        /// The address: the install is gone, as the service saw at this time. Final.
        case addressDead(since: Timestamp?)
        /// The address: it is malformed or belongs elsewhere; many of these say that a configuration is wrong. Final.
        case addressDoubtful
        /// The topic: all its pushes. Final for this push.
        case topic
        /// The credential: every push, until an operator changes something.
        case credential
        /// The connection: another one may take the push.
        case connection(ConnectionFault)
        /// The load or the health of what lies behind: later.
        case load(Load)

        /// Whether the push ends by it; otherwise it comes again.
        package var isFinal: Bool {
            switch self {
            case .push, .addressDead, .addressDoubtful, .topic: true
            case .credential, .connection, .load: false
            }
        }

        /// Whether nothing gets through until an operator changes something, as far as this answer says.
        package var isLasting: Bool {
            switch self {
            case .topic, .credential: true
            case .push, .addressDead, .addressDoubtful, .connection, .load: false
            }
        }

        /// Whether the credential is refused, on this connection or on all.
        package var isAboutCredential: Bool {
            switch self {
            case .credential, .connection(.credential), .connection(.tokenExpired): true
            case .push, .addressDead, .addressDoubtful, .topic, .connection, .load: false
            }
        }

        /// Whether the address is refused that the push went to.
        package var isAboutAddress: Bool {
            switch self {
            case .push(.address), .addressDead, .addressDoubtful: true
            case .push, .topic, .credential, .connection, .load: false
            }
        }
    }

    /// The part of a push that is at fault.
    package enum Part: Hashable, Sendable {
        /// Its address: it belongs to another app.
        case address
        /// The payload's size.
        case payloadSize
        /// The payload otherwise.
        case payload
        /// Its time to live, which is over: the delivery ends as expired.
        case timeToLive
        /// The header field of this name.
        case header(String)
        /// Method or path: the service at the other end may not be the expected one.
        case request
        /// The service does not say.
        case unspecified
    }

    /// What a connection is refused for.
    package enum ConnectionFault: Hashable, Sendable {
        /// The credential's token is too old, by the service's clock.
        case tokenExpired
        /// The credential; a new connection may take it.
        case credential
        /// Tokens followed each other too fast.
        case tokenUpdates
        /// It was idle for too long.
        case idle
        /// The server is shutting down.
        case closing
        /// The answer is none of a push service.
        case misdirected
    }

    /// What is overloaded, or fails.
    package enum Load: Hashable, Sendable {
        /// One address gets too many pushes.
        case address
        /// The service is overloaded or down.
        case service
        /// The service slows this sender down, whatever the address.
        case sender
        /// The service fails.
        case failure
        /// The service does not say.
        case unspecified
    }
}
