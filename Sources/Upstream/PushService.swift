package import PushModel

/// A push service as its upstream sees it: how the requests of pushes are built and what its answers say. Everything
/// else (holds, pauses, the congestion window, back-off, connections) is the same for all services.
package protocol PushService: Sendable {
    /// The service's name in log lines, such as `APNs`.
    var name: String { get }

    /// Builds the requests of the pushes of `batch` at `indices`, in this order. What they share is built once.
    func requests(for indices: [Int], of batch: [Push]) -> PushRequests

    /// What the pushes have in common that a refused topic stops.
    func topic(of push: Push) -> String

    /// The pushes of `batch` at `indices` that the credential may not send; `nil`: none.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> RefusedPushes?

    /// Reads an answer that does not accept its push: its reason and what it is about.
    func refusal(status: Int, body: [UInt8]) -> Refusal

    /// What a reason means, a sentence for operators; `nil`: it is not known.
    func meaning(of reason: Reason) -> String?

    /// Why pushes are held back while the service is overloaded or asked for a rest.
    var overload: Refusal { get }

    /// Why pushes to one address are held back.
    var addressOverload: Refusal { get }

    /// Why pushes are held back when too many addresses of an app are refused.
    var addressDoubt: Refusal { get }
}

extension PushService {
    /// None: the service itself decides.
    package func refusedPushes(among indices: [Int], of batch: [Push]) -> RefusedPushes? { nil }
}

/// Pushes that are refused here, because the service would refuse them and hold it against the connection.
package struct RefusedPushes: Sendable {
    /// Their places in the batch.
    package let indices: [Int]
    /// Why.
    package let refusal: Refusal

    /// Refuses pushes.
    package init(indices: [Int], refusal: Refusal) {
        self.indices = indices
        self.refusal = refusal
    }
}
