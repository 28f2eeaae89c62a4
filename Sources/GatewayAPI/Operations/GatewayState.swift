package import Delivery
package import PushModel
package import Store

/// How the gateway is, as operators are told: read when it is asked for.
package struct GatewayState: Sendable {
    /// The upstreams.
    package var upstreams: @Sendable () -> [UpstreamStatus] = { [] }
    /// The store.
    package var store: @Sendable () async -> StoreState = { StoreState() }
    /// The disk that the store is on; `nil`: nothing looks at it.
    package var disk: @Sendable () -> DiskSpace.State? = { nil }
    /// Why deliveries of a project ended within the last hour that were not accepted.
    package var recentReasons: @Sendable (ProjectID) -> [ReasonCount] = { _ in [] }
    /// The listener's certificate and those of a project's apps.
    package var certificates: @Sendable (ProjectID) -> [CertificateStatus] = { _ in [] }
    /// What a project's apps sign in with at their push services.
    package var credentials: @Sendable (ProjectID) -> [CredentialStatus] = { _ in [] }
    /// The metrics in Prometheus' text format.
    package var metricsText: @Sendable () -> String = { "" }
}
