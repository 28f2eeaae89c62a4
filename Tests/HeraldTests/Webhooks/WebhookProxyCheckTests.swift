import TestSupport
import Testing
import Upstream

@testable import herald

/// What `herald doctor` says of the proxy of webhooks.
struct WebhookProxyCheckTests {
    private func findings(_ proxy: UpstreamProxy?) async -> [Finding] {
        await WebhookProxyCheck(proxy: proxy, limit: .seconds(10)).findings()
    }

    @Test func aProxyHasToTakeAConnection() async throws {
        #expect(await findings(nil).isEmpty)
        let relay = try TCPRelay(to: 9, .proxy(answer: "HTTP/1.1 502 Bad Gateway\r\n\r\n", then: nil))
        let good = await findings(UpstreamProxy(host: "127.0.0.1", port: relay.port))
        #expect(good.map(\.grade) == [.good] && good.map(\.subject) == ["webhooks proxy"])
        // It is asked for no tunnel.
        let heads = relay.heads
        #expect(heads == [] || heads == [""])
    }

    @Test func aProxyThatIsNotThereFails() async throws {
        let port = try TCPRelay(to: 9).port
        let bad = await findings(
            UpstreamProxy(host: "127.0.0.1", port: port, credentials: .init(user: "a", password: "hunter2")))
        #expect(bad.map(\.grade) == [.bad])
        #expect(bad.allSatisfy { $0.text.contains("webhooks.proxy") && !$0.text.contains("hunter2") })
    }
}
