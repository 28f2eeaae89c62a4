import Synchronization

/// Under which URL clients reach the gateway: the configured one, or where it listens. Safe to share.
final class PublicURL: Sendable {
    private let isConfigured: Bool
    private let url: Mutex<String>

    /// Takes what the configuration says; the port may be free until the gateway listens.
    init(of configuration: GatewayConfiguration) {
        isConfigured = configuration.publicURL != nil
        url = Mutex(configuration.publicURL ?? configuration.listen.url(port: configuration.listen.port))
    }

    /// Without a slash at the end.
    var text: String { url.withLock { $0 } }

    /// Takes the address that the gateway listens at, unless another one is configured.
    func listens(at address: String) {
        guard !isConfigured else { return }
        url.withLock { $0 = address }
    }
}
