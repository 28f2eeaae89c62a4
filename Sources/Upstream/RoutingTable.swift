package import PushModel
import Synchronization

/// Routes and the upstreams that they lead to; replaced as a whole.
struct RoutingTable<Key: Hashable & Sendable>: Sendable {
    var routes: [PushRoute: UpstreamClient] = [:]
    var upstreams: [Key: UpstreamClient] = [:]
    /// Counts replacements, so that a draft that was made from an outdated table is noticed.
    var generation = 0
    var isShutDown = false

    /// The apps of each upstream.
    var apps: [ObjectIdentifier: (upstream: UpstreamClient, apps: Set<AppID>)] {
        var apps: [ObjectIdentifier: (upstream: UpstreamClient, apps: Set<AppID>)] = [:]
        for (route, upstream) in routes {
            apps[ObjectIdentifier(upstream), default: (upstream, [])].apps.insert(route.app)
        }
        return apps
    }
}

/// The next routing table in the making.
package struct RoutingDraft<Key: Hashable & Sendable>: ~Copyable {
    private let present: RoutingTable<Key>
    private let opener: UpstreamOpener
    private let holdChanged: @Sendable () -> Void
    private(set) var table: RoutingTable<Key>
    /// Upstreams made for this table; to be closed when it does not come into force.
    private(set) var opened: [UpstreamClient] = []

    init(present: RoutingTable<Key>, opener: UpstreamOpener, holdChanged: @escaping @Sendable () -> Void) {
        self.present = present
        self.opener = opener
        self.holdChanged = holdChanged
        table = RoutingTable(generation: present.generation + 1)
    }

    /// Adds a route. An upstream that is there already is kept; otherwise `describe` says how it is reached.
    package mutating func add(
        _ route: PushRoute, to key: Key, describe: () -> UpstreamDescription
    ) throws(UpstreamConfigurationError) {
        let upstream: UpstreamClient
        if let known = table.upstreams[key] ?? present.upstreams[key] {
            upstream = known
        } else {
            upstream = try opener.open(describe(), holdChanged: holdChanged)
            opened.append(upstream)
        }
        table.upstreams[key] = upstream
        table.routes[route] = upstream
    }

    /// The source of tokens of an upstream whose key matches, kept or drafted: upstreams with the same credential share
    /// it.
    package func tokens(where matches: (Key) -> Bool) -> (any AuthorizationSource)? {
        func tokens(in upstreams: [Key: UpstreamClient]) -> (any AuthorizationSource)? {
            upstreams.first { matches($0.key) && $0.value.tokens != nil }?.value.tokens
        }
        return tokens(in: present.upstreams) ?? tokens(in: table.upstreams)
    }
}
