import Console
import GatewayAPI
import IPAddresses
import Logging
import Upstream

/// What the console needs of the configuration.
extension GatewayConfiguration {
    /// Where the console is, with its pages; `nil`: there is none.
    ///
    /// - Throws: what the parser of a template says.
    func consoleMount(_ services: ConsoleServices) throws -> ConsoleMount? {
        guard console.isEnabled else { return nil }
        let responder = try ConsoleResponder(services, configuration: console)
        return ConsoleMount(path: console.path) { request, peer, calls in
            await responder.respond(to: request, from: peer, calls: calls)
        }
    }

    /// The proxy of the environment, for what the console asks of others.
    var consoleProxy: ForwardProxy.Choice {
        { [environmentProxy] host, port in
            environmentProxy?.proxy(for: UpstreamEndpoint(host: host, port: port)).map { proxy in
                ForwardProxy(
                    host: proxy.host, port: proxy.port, user: proxy.credentials?.user,
                    password: proxy.credentials?.password)
            }
        }
    }

    /// The settings in force, as the console shows them: no secret is among them.
    var shownSettings: [SettingSection] {
        [
            SettingSection(
                "Listener",
                [
                    .init("listen.host", listen.host), .init("listen.port", String(listen.port)),
                    .init("listen.certificate", listen.certificate ?? "none: plain HTTP"),
                    .init("publicURL", publicURL ?? "where it listens"), .init("console.path", console.path),
                    .init("console.oidc.issuer", console.oidc?.issuer ?? "none: operators sign in here alone"),
                    .init("operations.port", operations.map { String($0.port) } ?? "on the API’s listener"),
                ]),
            SettingSection(
                "Limits",
                [
                    .init("limits.messages", String(limits.messages)), .init("limits.bytes", String(limits.bytes)),
                    .init("limits.pageSize", String(limits.pageSize)),
                    .init("limits.inFlight", String(limits.inFlight)),
                    .init("limits.bodyBytes", String(limits.bodyBytes)),
                    .init("limits.connections", String(limits.connections)),
                    .init("limits.proxies", String(limits.proxies)),
                    .init("limits.freeBytes", String(limits.freeBytes)),
                    .init("limits.upstreamThreads", String(limits.upstreamThreads)),
                    .init("limits.upstreamConnections", String(limits.upstreamConnections)),
                    .init("limits.clientAddressRate", String(limits.clientAddressRate)),
                    .init("limits.failedAuthenticationRate", String(limits.failedAuthenticationRate)),
                ]),
            SettingSection(
                "Webhooks",
                [
                    .init("webhooks.proxy", webhooks.proxy.map(\.description) ?? "none: requests go directly"),
                    .init(
                        "webhooks.allowHTTP",
                        webhooks.allowHTTP.isEmpty ? "none" : webhooks.allowHTTP.joined(separator: ", ")),
                    .init(
                        "webhooks.allowNetworks",
                        webhooks.allowNetworks.isEmpty
                            ? "none beside the Internet"
                            : webhooks.allowNetworks.map(\.description).joined(separator: ", ")),
                ]),
            SettingSection(
                "Store and log",
                [
                    database.map { .init("store.url", $0.name) } ?? .init("data", dataDirectory),
                    .init("projects", projectsDirectory),
                    .init("retention.eventHours", String(retention.eventHours)),
                    .init("log.level", log.level.rawValue), .init("log.format", log.format.rawValue),
                ]),
        ]
    }
}
