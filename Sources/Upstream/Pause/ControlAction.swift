import PushModel

/// What the owner of an ``UpstreamControl`` must do now, in this order.
enum ControlAction: Hashable {
    /// Tell the operator that a pause began.
    case tellPause(UpstreamPause.Part, Refusal, detail: String)
    /// Tell the operator that it is over.
    case tellEnd(UpstreamPause.Part, Refusal)
    /// Replace the connections.
    case replaceConnections
    /// Send slowly at first: everything was held back for this reason, or may have to be.
    case restartSlowly(after: Refusal)
}
