import Upstream

/// The proxy that the environment names, as curl and other Unix programs understand it: `https_proxy` or `HTTPS_PROXY`,
/// and the exceptions in `no_proxy` or `NO_PROXY`. The names in lower case win.
///
/// What lies on this machine is always reached directly.
struct EnvironmentProxy: Sendable {
    /// The proxy.
    let proxy: UpstreamProxy
    /// Hosts, domains (with or without a dot before them), addresses, each with or without a port; `*`: everything.
    private let exceptions: [String]

    /// `nil` when the environment names none.
    init?(environment: [String: String], problems: inout [ConfigurationProblem]) {
        guard let name = ["https_proxy", "HTTPS_PROXY"].first(where: { environment[$0]?.isEmpty == false }),
            let text = environment[name]
        else { return nil }
        do {
            proxy = try ProxyURL(text).proxy
        } catch {
            problems.append(
                ConfigurationProblem(ConfigurationPlace(source: name, line: nil), "the value \(error.text)"))
            return nil
        }
        let list = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        exceptions = list.lowercased().split(whereSeparator: { $0 == "," || $0.isWhitespace }).map(String.init)
    }

    /// The proxy that leads to `endpoint`; `nil`: the way is direct.
    func proxy(for endpoint: UpstreamEndpoint) -> UpstreamProxy? {
        let host = endpoint.host.lowercased()
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || Self.isLoopback(host) { return nil }
        return exceptions.contains { Self.covers($0, host, endpoint.port) } ? nil : proxy
    }

    /// 127.0.0.0/8.
    private static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.first == 127 && !parts.contains(nil)
    }

    private static func covers(_ exception: String, _ host: String, _ port: Int) -> Bool {
        if exception == "*" { return true }
        var name = exception
        // A single colon separates a port; several are an IPv6 address.
        if let place = UpstreamEndpoint(text: exception) {
            guard place.port == port else { return false }
            name = place.host
        } else if name.hasPrefix("["), name.hasSuffix("]") {
            name = String(name.dropFirst().dropLast())
        }
        if name.hasPrefix(".") { name.removeFirst() }
        return !name.isEmpty && (host == name || host.hasSuffix("." + name))
    }
}
