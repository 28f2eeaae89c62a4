import PushModel
import Store
import Traces

/// Deliveries of one message that were claimed together with its accept: they go to the wire without another look into
/// the store.
struct DirectClaims: Sendable {
    /// The message.
    var message: Message
    /// What it says.
    var content: any MessageContent
    /// What it says to the devices of each app, composed for its checks.
    var pushes: [AppKey: any ComposedPush]
    /// The deliveries, none of which was tried before.
    var deliveries: [ClaimedDelivery]
    /// When they were committed, of a traced message.
    var committedAt: TraceTime?
}

/// Room in a lane that was taken for claims on their way: given back with
/// ``DeliveryRunner/deliver(_:reserved:)`` or ``DeliveryRunner/release(_:)``.
struct Reservation: Sendable {
    /// The lane.
    var lane: Lane
    /// Who claims.
    var worker: WorkerID
    /// The room, by project.
    var counts: [ProjectID: Int]
}
