import NIOCore
import NIOPosix
import Upstream

/// Whether the proxy of webhooks takes connections. It is asked for no tunnel: that would go to an endpoint of somebody.
struct WebhookProxyCheck {
    /// `nil`: there is none, and nothing is found.
    let proxy: UpstreamProxy?
    /// How long it may take.
    let limit: Duration

    func findings() async -> [Finding] {
        guard let proxy else { return [] }
        do {
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(TimeAmount(limit)).connect(host: proxy.host, port: proxy.port).get()
            try await channel.close()
            return [Finding(.good, "webhooks proxy", "\(proxy) takes connections")]
        } catch {
            return [
                Finding(
                    .bad, "webhooks proxy",
                    "\(proxy) can't be reached; all webhooks go through it (webhooks.proxy)")
            ]
        }
    }
}
