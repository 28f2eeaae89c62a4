import PushModel

extension PrometheusRegistry {
    /// Sets the gauges of the upstreams to what they are now; upstreams that are gone leave the scrape.
    func setUpstreams(_ upstreams: [UpstreamStatus]) {
        func gauge(_ name: MetricName, _ value: (UpstreamStatus) -> Int) {
            setGauge(name, upstreams.map { (labels: [("upstream", $0.name)], value: Double(value($0))) })
        }
        gauge(.upstreamConnections, \.connections)
        gauge(.upstreamStreams, \.streamsInUse)
        gauge(.upstreamStreamLimit, \.streamLimit)
        gauge(.upstreamQueued, \.queued)
        gauge(.upstreamQueueLimit, \.queueLimit)
        gauge(.upstreamCircuitOpen) { $0.circuit == .open ? 1 : 0 }
        gauge(.upstreamFailedDials, \.failedDials)
        gauge(.upstreamPaused) { $0.pauses.contains { $0.part == .everything } ? 1 : 0 }
        gauge(.upstreamPausedParts) { $0.pauses.count { $0.part != .everything } }
        setGauge(
            .upstreamGoAways,
            upstreams.flatMap { upstream in
                upstream.goAways.sorted { $0.key < $1.key }.map { reason, count in
                    (labels: [("upstream", upstream.name), ("reason", reason)], value: Double(count))
                }
            })
        // No value until it is known: a 0 would say that all is well.
        setGauge(
            .upstreamPaceLimit,
            upstreams.compactMap { status in
                status.paceLimit.map { (labels: [("upstream", status.name)], value: Double($0)) }
            })
        setGauge(
            .upstreamClockSkew,
            upstreams.compactMap { status in
                status.clockSkew.map { (labels: [("upstream", status.name)], value: Double($0.components.seconds)) }
            })
    }
}
