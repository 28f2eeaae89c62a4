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

    /// Reads the sign of an answer by the ``APNSReasonTable``; of one without a known reason by its status.
    ///
    /// - Parameter reason: `nil` when the push was accepted.
    init(status: Int, reason: APNSReason?) {
        guard let reason else {
            self = .working
            return
        }
        let row = APNSReasonTable.row(of: reason)
        if status == 403 || reason == .tooManyProviderTokenUpdates || row?.actions.contains(.pauseLane) == true {
            self = .nothing
            return
        }
        guard let remedy = Self.remedy(for: row, status: status) else {
            self = .working
            return
        }
        self = .problem(Problem(name: reason.rawValue, detail: "status \(status)", remedy: remedy))
    }

    /// `nil`: no problem of the upstream, the answer concerns one device or message.
    private static func remedy(for row: APNSReasonTable.Row?, status: Int) -> Remedy? {
        let actions = row?.actions ?? []
        // A connection that answers nothing but 500 is replaced by its pool (``PoolConfiguration/serverErrorLimit``): an
        // expired token on an idle connection used to show like that. A server that shuts down (503) says GOAWAY by itself, and the other connections are as good as before.
        if actions.contains(.otherConnection), status < 500 { return .freshConnections }
        switch status {
        case 404, 405, 500..., ..<400: return Remedy.none
        default: return nil
        }
    }
}
