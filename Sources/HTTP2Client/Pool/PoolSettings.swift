/// A pool's configuration in the form the hot path wants: times in nanoseconds, names put together.
struct PoolSettings {
    let configuration: PoolConfiguration
    let tls: TLSSource
    let serverName: String
    let authority: String
    /// Where TCP goes: the proxy, or the peer itself.
    let hop: (host: String, port: Int)
    /// `host:port` of the peer.
    let target: String
    let attemptDelay: Int64
    let connectTimeout: Int64
    let warmingTimeout: Int64
    let streamTimeout: Int64
    let queueTimeout: Int64
    let pingInterval: Int64
    let pingTimeout: Int64
    let drainTimeout: Int64
    let doubtTime: Int64
    let lastingTime: Int64

    init(_ configuration: PoolConfiguration, tls: TLSSource) {
        self.configuration = configuration
        self.tls = tls
        serverName = configuration.serverName ?? configuration.host
        // RFC 3986 §3.2.2: an IPv6 address stands in brackets; the default port of https is left out.
        let host = serverName.contains(":") ? "[\(serverName)]" : serverName
        authority = configuration.port == 443 ? host : "\(host):\(configuration.port)"
        hop = configuration.proxy.map { ($0.host, $0.port) } ?? (configuration.host, configuration.port)
        target = authorityForm(host: configuration.host, port: configuration.port)
        attemptDelay = configuration.attemptDelay.wholeNanoseconds
        connectTimeout = configuration.connectTimeout.wholeNanoseconds
        warmingTimeout = configuration.warmingTimeout.wholeNanoseconds
        streamTimeout = configuration.streamTimeout.wholeNanoseconds
        queueTimeout = configuration.queueTimeout.wholeNanoseconds
        let interval = configuration.pingInterval.wholeNanoseconds
        pingInterval = interval > 0 ? interval : .max
        pingTimeout = configuration.pingTimeout.wholeNanoseconds
        drainTimeout = configuration.drainTimeout.wholeNanoseconds
        doubtTime = configuration.doubtTime.wholeNanoseconds
        lastingTime = configuration.lastingTime.wholeNanoseconds
    }

    /// How long sent bytes may stay unacknowledged by TCP: a little longer than HTTP/2's own check takes. Without that
    /// check there is none: Linux counts the time of a full window too, although the peer answers its probes, so a short
    /// one would end the connection to a peer that is merely slow.
    var unacknowledgedLimit: Duration {
        guard configuration.pingInterval > .zero else { return .seconds(Int64.max) }
        return configuration.pingInterval + configuration.pingTimeout
    }
}

extension DialPlan {
    /// The plan of a pool that has not dialed yet.
    ///
    /// - Parameter budget: that of the endpoint, widened by the pool's burst; `nil`: one of its own.
    init(_ configuration: PoolConfiguration, budget: EndpointDialBudget? = nil) {
        let own = EndpointDialBudget(interval: configuration.dialInterval)
        if budget == nil { own.widen(by: configuration.burst) }
        self.init(
            limits: Limits(
                connections: configuration.connectionLimit, width: configuration.dialLimit,
                failures: configuration.circuitLimit, probes: configuration.streamLimit),
            budget: budget ?? own,
            backOff: BackOff(floor: configuration.backOffFloor, ceiling: configuration.backOffCeiling))
    }
}
