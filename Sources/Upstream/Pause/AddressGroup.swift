import PushModel

/// Pushes that refused addresses are counted for together: those of an app to one environment whose device tokens are
/// proven, or those whose tokens are suspects.
struct AddressGroup: Hashable {
    let route: PushRoute
    /// Whether the service has accepted the device tokens before.
    let isProven: Bool

    init(_ push: Push) {
        route = push.route
        isProven = push.isProven
    }

    /// The group as operators see it.
    var part: UpstreamPause.Part { isProven ? .route(route) : .suspects(route) }

    /// What the operator is told when too many of the group were refused.
    func detail(_ count: DoubtfulAddressWindow.Count, of service: any PushService) -> String {
        let way = "\(route.app) to \(route.channel)"
        let reason = service.addressDoubt.reason
        guard isProven else {
            return "of the last \(count.answers) pushes for \(way) to device tokens that \(service.name) has never "
                + "accepted \(count.bad) were refused as \(reason); the registrations' environment is wrong, or somebody "
                + "registers device tokens that don't exist; proven ones go on; nothing was deleted"
        }
        return "of the last \(count.answers) pushes for \(way) \(count.bad) were refused as \(reason); the "
            + "registrations' environment is probably wrong; nothing was deleted"
    }
}
