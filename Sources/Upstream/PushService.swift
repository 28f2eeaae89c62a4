package import PushModel

/// A push service as its upstream sees it: how the requests of pushes are built and what its answers say. Everything
/// else (holds, pauses, the congestion window, back-off, connections) is the same for all services.
package protocol PushService: Sendable {
    /// The service's name in log lines, such as `APNs`.
    var name: String { get }

    /// Builds the requests of the pushes of `batch` at `indices`, in this order, but for those that it refuses. What they
    /// share is built once. Called on any thread but those of loops.
    func requests(for indices: [Int], of batch: [Push]) -> PushRequests

    /// What the pushes have in common that a refused topic stops.
    func topic(of push: Push) -> String

    /// The pushes of `batch` at `indices` that are not to be sent at all, by their places, and why: because the service
    /// would refuse them and hold it against the connection, or has refused their like.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> [Int: Refusal]

    /// Whether a status from 200 to 299 is one with which the service accepts pushes by its own documents; any other of
    /// them counts as accepted too, and is told.
    func isUsualSuccess(_ status: Int) -> Bool

    /// Reads an answer that does not accept its push: its reason and what it is about.
    func refusal(status: Int, body: [UInt8]) -> Refusal

    /// What a reason means, a sentence for operators; `nil`: it is not known.
    func meaning(of reason: Reason) -> String?

    /// Why pushes are held back while the service is overloaded or asked for a rest.
    var overload: Refusal { get }

    /// What the service says of a push that it accepts; `nil`: nothing.
    func acceptance(in answer: AcceptingAnswer) -> Acceptance?

    /// Whether ``note(_:of:)`` is to be called.
    var notesAnswers: Bool { get }

    /// Takes note of what the service said of a push, before anything else follows from it. Called on a loop thread; must
    /// not block.
    func note(_ outcome: Outcome, of push: Push)

    /// Whether a dead address without a time counts as dead since the push set out; otherwise nothing is concluded.
    var seesDeathAtOnce: Bool { get }

    /// The reason of an answer that the service does not know the address; it is judged by how many get it
    /// (``UnknownAddresses``). `nil`: it has none, or its refusals say themselves what they mean.
    var unknownAddress: Reason? { get }

    /// How answers are judged that an address belongs to another credential; `nil`: there are none.
    var mismatches: MismatchLimits? { get }

    /// How long an address is left alone after the first answer that it gets too many pushes; it doubles with each.
    var firstAddressPause: Duration { get }

    /// The most pushes to one address within a minute; what is beyond waits. `nil`: any number.
    var addressLimit: Int? { get }

    /// Why pushes to one address are held back.
    var addressOverload: Refusal { get }

    /// Why pushes are held back when too many addresses of an app are refused.
    var addressDoubt: Refusal { get }
}

extension PushService {
    /// 200 alone.
    package func isUsualSuccess(_ status: Int) -> Bool { status == 200 }

    /// None: the service itself decides.
    package func refusedPushes(among indices: [Int], of batch: [Push]) -> [Int: Refusal] { [:] }

    /// Nothing.
    package func acceptance(in answer: AcceptingAnswer) -> Acceptance? { nil }

    /// No.
    package var notesAnswers: Bool { false }

    /// Nothing.
    package func note(_ outcome: Outcome, of push: Push) {}

    /// No.
    package var seesDeathAtOnce: Bool { false }

    /// None.
    package var unknownAddress: Reason? { nil }

    /// None.
    package var mismatches: MismatchLimits? { nil }

    /// Five seconds.
    package var firstAddressPause: Duration { .seconds(5) }

    /// Any number.
    package var addressLimit: Int? { nil }
}
