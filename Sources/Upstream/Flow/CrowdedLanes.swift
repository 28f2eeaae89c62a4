/// Which lanes have so many pushes waiting for their turn that more are to stay in the store until these have gone.
enum CrowdedLanes: Hashable, Sendable {
    /// None: few wait.
    case none
    /// The bulk lane.
    case bulk
    /// The interactive one: as it goes first, nothing is wanted of the other either.
    case all
}
