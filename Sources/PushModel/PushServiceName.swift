/// Where a push service is: host and port of endpoints.
package struct PushServiceName: Hashable, Sendable, CustomStringConvertible {
    /// Host name or address, in lower case.
    package let host: String
    /// TCP port.
    package let port: Int

    /// Reads `host` or `host:port`; `nil`: it is neither.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty,
            host.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") || $0.isAlphanumeric })
        else { return nil }
        self.host = host.lowercased()
        guard parts.count == 2 else {
            port = 443
            return
        }
        guard let port = Int(parts[1]), (1...65_535).contains(port) else { return nil }
        self.port = port
    }

    /// The service of an endpoint; `nil` only for what is no subscription's endpoint.
    package init?(endpoint: String) {
        self.init(
            String(endpoint.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }))
    }

    /// The origin, as `aud` of a token has it (RFC 6454 §6.2).
    package var origin: String { "https://" + description }

    /// `host`, or `host:port` where the port is another than 443.
    package var description: String { port == 443 ? host : "\(host):\(port)" }

    /// Whether it is one of the services of the browsers that there are (webpush.md §6). An endpoint comes from a client:
    /// nothing is sent to any other host, unless the project names it.
    package var isPublic: Bool {
        port == 443 && (Self.hosts.contains(host) || Self.suffixes.contains { host.hasSuffix($0) })
    }

    private static let hosts: Set<String> = ["fcm.googleapis.com", "jmt17.google.com", "push.services.mozilla.com"]
    private static let suffixes = [".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com"]
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}
