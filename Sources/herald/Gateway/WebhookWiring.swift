import IPAddresses
import Logging
import NIOCore
import PushModel
import Store
import Synchronization
import Traces
import Upstream
import Webhooks

/// What sends webhooks, from the configuration.
struct WebhookWiring {
    let service: WebhookService
    let listeners: OwnListeners
    let controller: WebhookController

    /// - Parameters:
    ///   - isSaturated: whether pushes use their room, which come first. Cheap.
    ///   - isSending: whether this gateway sends them, see ``LiveNodes/isFirst``.
    init(
        _ configuration: GatewayConfiguration, store: any WebhookServices.Stores,
        isSaturated: @escaping @Sendable () -> Bool, isSending: @escaping @Sendable () -> Bool,
        wallTime: @escaping WallTime, tracer: StepTracer?,
        logger: Logger
    ) {
        let listeners = OwnListeners(configuration)
        self.listeners = listeners
        let policy = WebhookPolicy(
            allowedHTTP: Set(configuration.webhooks.allowHTTP), allowedNetworks: configuration.webhooks.allowNetworks,
            isOwnListener: { listeners.contains($0, port: $1) })
        if let proxy = configuration.webhooks.proxy {
            logger.notice("webhooks go through a proxy", metadata: ["proxy": "\(proxy)"])
        }
        for network in policy.allowedNetworks {
            logger.notice("webhooks may go to a network that is not the Internet", metadata: ["network": "\(network)"])
        }
        let lookup = Self.lookup(HostLookup())
        let transport = HTTPWebhookTransport(
            policy: policy, lookup: lookup, proxy: configuration.webhooks.proxy.map(WebhookProxy.init),
            wallTime: wallTime, logger: logger)
        let clock = ContinuousClock()
        var services = WebhookServices(
            store: store, transport: transport, budget: ReadingBudget(clock: clock, isBusy: isSaturated), clock: clock,
            wallTime: wallTime, random: { Double.random(in: 0..<1) }, tracer: tracer, logger: logger)
        services.isSending = isSending
        service = WebhookService(services) { await transport.shutdown() }
        // With threads of their own: what is named and checked takes none from deliveries.
        let checks = Self.lookup(HostLookup(threads: 4, perProject: 2))
        controller = WebhookController(services, policy: policy, lookup: checks)
    }

    private static func lookup(_ names: HostLookup) -> HTTPWebhookTransport.Lookup {
        { host, project in
            await names.addresses(of: host, for: project).mapError { WebhookLookupFailure($0.message) }
        }
    }
}

extension WebhookProxy {
    fileprivate init(_ proxy: UpstreamProxy) {
        self.init(
            host: proxy.host, port: proxy.port, user: proxy.credentials?.user, password: proxy.credentials?.password)
    }
}

/// The addresses on which the gateway itself listens: no webhook goes there.
final class OwnListeners: Sendable {
    private let listeners: Mutex<[(host: String, port: Int)]>

    /// Those of a configuration; what takes a free port is added once it is known.
    init(_ configuration: GatewayConfiguration) {
        var listeners = [(host: configuration.listen.host, port: configuration.listen.port)]
        if let operations = configuration.operations { listeners.append((operations.host, operations.port)) }
        self.listeners = Mutex(listeners)
    }

    /// A listener has its port.
    func add(_ host: String, port: Int) {
        listeners.withLock { $0.append((host, port)) }
    }

    /// Whether an address and port are of a listener.
    func contains(_ address: IPAddress, port: Int) -> Bool {
        let hosts = listeners.withLock { $0.filter { $0.port == port }.map(\.host) }
        return hosts.contains { IPAddress($0) == address } || !hosts.isEmpty && Self.isOfThisMachine(address)
    }

    private static func isOfThisMachine(_ address: IPAddress) -> Bool {
        if address.bytes.count == 4, address.bytes.first == 127 { return true }
        // Interfaces that can't be listed leave loopback.
        let devices = (try? System.enumerateDevices()) ?? []
        return devices.contains { $0.address?.ipAddress.flatMap { IPAddress($0) } == address }
    }
}
