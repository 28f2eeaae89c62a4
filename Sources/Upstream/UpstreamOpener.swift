import HTTP2Client
import Logging
import PushModel

/// An upstream that is to be opened.
package struct UpstreamDescription: Sendable {
    /// How it is reached.
    package var configuration: UpstreamConfiguration
    /// Which service it leads to, with one credential.
    package var service: any PushService
    /// The tokens that its requests carry; `nil`: none.
    package var tokens: (any AuthorizationSource)?
    /// The most pushes a second, at least 1; `nil`: no such limit.
    package var maxPerSecond: Int?

    /// Describes an upstream.
    package init(
        configuration: UpstreamConfiguration, service: any PushService, tokens: (any AuthorizationSource)?,
        maxPerSecond: Int? = nil
    ) {
        self.maxPerSecond = maxPerSecond
        self.configuration = configuration
        self.service = service
        self.tokens = tokens
    }
}

/// Opens upstreams with what they all have in common.
struct UpstreamOpener: Sendable {
    let transport: any RequestTransport
    let connectionLimit: Int
    let doubtfulAddresses: DoubtfulAddressLimits
    let wallTime: WallTime
    let uptime: Uptime
    let logger: Logger
    /// Where the requests of all of them are built; `nil`: where they are handed over.
    var builders: RequestBuilders?
    /// Who shares the limits of each upstream.
    let nodes = NodeCount()

    /// Opens an upstream; nothing is dialed.
    ///
    /// - Parameters:
    ///   - isNarrow: whether it gets one connection, since there are many others.
    ///   - holdChanged: called when what it holds has changed, from any thread, without a lock held.
    func open(
        _ description: UpstreamDescription, isNarrow: Bool = false, holdChanged: @escaping @Sendable () -> Void
    ) throws(UpstreamConfigurationError) -> UpstreamClient {
        var configuration = description.configuration.poolConfiguration
        // Pools are made before their upstream.
        let reachChanged = ChangeCallback()
        configuration.reachChanged = { reachChanged.call() }
        configuration.connectionLimit = isNarrow ? 1 : connectionLimit
        let pools: UpstreamPools
        do {
            pools = try UpstreamPools(configuration, transport: transport)
        } catch {
            throw UpstreamConfigurationError(error, in: description.configuration)
        }
        let upstream = UpstreamClient(
            name: description.configuration.name, service: description.service, pools: pools,
            tokens: description.tokens, maxPerSecond: description.maxPerSecond, doubtfulAddresses: doubtfulAddresses,
            wallTime: wallTime, uptime: uptime, logger: logger, builders: builders, holdChanged: holdChanged)
        reachChanged.set { [weak upstream] in upstream?.updateHold() }
        upstream.divide(among: nodes.value)
        return upstream
    }
}
