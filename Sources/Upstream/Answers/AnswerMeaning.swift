import PushModel

/// What an answer says beyond its push, as the pauses, the congestion window and the table of busy devices read it.
enum AnswerMeaning: Hashable {
    /// The service took the push.
    case accepted
    /// The address is malformed, or belongs elsewhere.
    case addressDoubtful(Refusal)
    /// The addresses of the push's group are refused, as far as is known: what would be refused too is not to be sent.
    case groupRefused(Refusal)
    /// The address gets too many pushes; `after`: how long to leave it alone at least.
    case addressBusy(after: Duration?)
    /// The push is refused for its own or its address's sake.
    case pushRefused
    /// The topic is refused.
    case topicRefused(Refusal)
    /// The credential is refused: nothing gets through.
    case credentialRefused(Refusal)
    /// The credential is refused on this connection, or its token for now; another may take it.
    case connectionRefused(Refusal)
    /// The credential's token is called expired.
    case tokenExpired(Refusal)
    /// The service is overloaded or fails; `after`: how long it asks to be left alone.
    case overloaded(after: Duration?)
    /// The service slows this sender down, and does not say for how long.
    case slowed
    /// Nothing of that kind.
    case nothing

    /// Reads an answer by the scope of its refusal.
    init(_ outcome: Outcome) {
        switch outcome {
        case .accepted: self = .accepted
        case .rejected(let refusal): self = Self.meaning(of: refusal, after: nil)
        case .throttled(let refusal, let after): self = Self.meaning(of: refusal, after: after)
        case .notSent, .unknown: self = .nothing
        }
    }

    private static func meaning(of refusal: Refusal, after: Duration?) -> AnswerMeaning {
        switch refusal.scope {
        case .push, .addressDead: .pushRefused
        case .addressDoubtful: .addressDoubtful(refusal)
        case .topic: .topicRefused(refusal)
        case .credential: .credentialRefused(refusal)
        case .connection(.tokenExpired): .tokenExpired(refusal)
        case .connection(.credential), .connection(.tokenUpdates): .connectionRefused(refusal)
        case .connection(.idle), .connection(.closing), .connection(.misdirected): .nothing
        case .load(.address): .addressBusy(after: after)
        case .load(.service), .load(.failure): .overloaded(after: after)
        case .load(.sender): after.map { .overloaded(after: $0) } ?? .slowed
        case .load(.unspecified): .nothing
        }
    }

    /// What it says about the credential.
    var credentialFinding: SendPause.Finding {
        switch self {
        case .accepted, .addressDoubtful, .groupRefused, .addressBusy, .pushRefused, .topicRefused: .passed
        case .credentialRefused(let refusal), .connectionRefused(let refusal), .tokenExpired(let refusal):
            .refused(refusal)
        case .overloaded, .slowed, .nothing: .inconclusive
        }
    }

    /// What it says about the topic.
    var topicFinding: SendPause.Finding {
        switch self {
        case .accepted, .addressDoubtful, .groupRefused, .addressBusy, .pushRefused: .passed
        case .topicRefused(let refusal): .refused(refusal)
        case .credentialRefused, .connectionRefused, .tokenExpired, .overloaded, .slowed, .nothing: .inconclusive
        }
    }

    /// What it says about the addresses of the app on this route.
    var addressFinding: SendPause.Finding {
        switch self {
        case .accepted, .addressBusy, .pushRefused: .passed
        case .addressDoubtful(let refusal), .groupRefused(let refusal): .refused(refusal)
        case .topicRefused, .credentialRefused, .connectionRefused, .tokenExpired, .overloaded, .slowed, .nothing:
            .inconclusive
        }
    }

    /// The refusal that is about who sends, not about the push or its address.
    var refusalOfSender: Refusal? {
        switch self {
        case .groupRefused(let refusal), .topicRefused(let refusal), .credentialRefused(let refusal),
            .connectionRefused(let refusal), .tokenExpired(let refusal):
            refusal
        case .accepted, .addressDoubtful, .addressBusy, .pushRefused, .overloaded, .slowed, .nothing: nil
        }
    }

    /// Whether the service dealt with the push and did not complain of load.
    var isAnswered: Bool {
        switch self {
        case .overloaded, .slowed, .nothing: false
        case .accepted, .addressDoubtful, .groupRefused, .addressBusy, .pushRefused, .topicRefused, .credentialRefused,
            .connectionRefused, .tokenExpired:
            true
        }
    }
}
