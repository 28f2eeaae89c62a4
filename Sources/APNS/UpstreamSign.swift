import HTTP2Client
import PushModel

/// What one exchange says about the upstream as a whole, beside what it says about its push.
enum UpstreamSign: Hashable, Sendable {
    /// The upstream works; if it refused the push, then for the push's own sake.
    case working
    /// Nothing: the gateway itself ended the exchange.
    case nothing
    /// Something is wrong that would meet other pushes too.
    case problem(Problem)

    /// Something is wrong with the upstream.
    struct Problem: Hashable, Sendable {
        /// APNs' reason or the transport's cause.
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
        /// New connections: APNs holds something against the present ones.
        case freshConnections
        /// The same once it has happened many times without a good answer in between. (An expired token on an idle
        /// connection used to show as endless 500.)
        case freshConnectionsIfRepeated
        /// A new provider token, on new connections: one that saw the old token expire keeps refusing.
        case freshToken
    }

    /// Reads the sign of a request that got no answer.
    init(_ failure: TransportFailure) {
        switch failure.kind {
        case .shutdown:
            self = .nothing
        case .connectFailed, .tlsFailed, .connectionLost, .refused, .reset, .timedOut, .protocolError:
            self = .problem(Problem(name: failure.kind.rawValue, detail: failure.message, remedy: .none))
        }
    }

    /// Reads the sign of an answer.
    init(status: Int, reason: APNSReason?) {
        let name = reason?.rawValue ?? "status \(status)"
        func problem(_ remedy: Remedy) -> UpstreamSign {
            .problem(Problem(name: name, detail: "status \(status)", remedy: remedy))
        }
        switch (status, name) {
        case (_, "ExpiredProviderToken"): self = problem(.freshToken)
        case (_, "InvalidProviderToken"), (_, "UnrelatedKeyIdInToken"), (_, "TooManyProviderTokenUpdates"),
            (_, "IdleTimeout"):
            self = problem(.freshConnections)
        case (500, _): self = problem(.freshConnectionsIfRepeated)
        case (400, "BadTopic"), (400, "MissingTopic"), (400, "TopicDisallowed"): self = problem(.none)
        case (403, _), (404, _), (405, _), (501..., _), (..<200, _), (300..<400, _): self = problem(.none)
        case (_, _): self = .working
        }
    }
}
