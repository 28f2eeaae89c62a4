import HTTP2Client
import PushModel

/// What one exchange says about the upstream as a whole, beside what it says about its push.
enum UpstreamSign: Hashable, Sendable {
    /// The upstream works; if it refused the push, then for the push's own sake.
    case working
    /// Nothing: the gateway itself ended the exchange, or it is about the credential or topic, and ``UpstreamControl``
    /// deals with that.
    case nothing
    /// Something is wrong that would meet other pushes too.
    case problem(Problem)

    /// Something is wrong with the upstream.
    struct Problem: Hashable, Sendable {
        /// The service's reason or the transport's cause.
        let name: String
        /// More for the operator; never a token.
        let detail: String
        /// What helps.
        let remedy: Remedy
    }

    /// What the gateway can do about a problem.
    enum Remedy: Hashable, Sendable {
        /// Nothing here: the configuration or the peer must change.
        case none
        /// New connections: the service holds something against the present ones.
        case freshConnections
    }

    /// Reads the sign of a request that got no answer.
    init(_ failure: TransportFailure) {
        switch failure.kind {
        case .shutdown, .withdrawn:
            self = .nothing
        case .connectFailed, .tlsFailed, .connectionLost, .refused, .reset, .timedOut, .protocolError:
            self = .problem(Problem(name: failure.kind.rawValue, detail: failure.message, remedy: .none))
        }
    }

    /// Reads the sign of an answer by the scope of its refusal.
    ///
    /// - Parameter refusal: `nil` when the push was accepted.
    init(_ refusal: Refusal?, status: Int) {
        guard let refusal else {
            self = .working
            return
        }
        func problem(_ remedy: Remedy) -> UpstreamSign {
            .problem(Problem(name: refusal.reason.rawValue, detail: "status \(status)", remedy: remedy))
        }
        self =
            switch refusal.scope {
            case .push(.request): problem(.none)
            case .push, .addressDead, .addressDoubtful, .load(.address), .load(.sender), .load(.unspecified):
                .working
            case .topic, .credential, .connection(.tokenExpired), .connection(.credential), .connection(.tokenUpdates):
                .nothing
            case .connection(.idle): problem(.freshConnections)
            // A server that shuts down says GOAWAY by itself, and the other connections are as good as before.
            case .connection(.closing), .connection(.misdirected): problem(.none)
            // A connection that answers nothing but 500 is replaced by its pool
            // (``PoolConfiguration/serverErrorLimit``): an expired token on an idle connection used to show like that.
            case .load(.service), .load(.failure): problem(.none)
            }
    }
}
