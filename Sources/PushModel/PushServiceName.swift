/// Where a push service is: host and port of endpoints.
package struct PushServiceName: Hashable, Sendable, CustomStringConvertible {
    /// Host name or address, in lower case; an IPv6 address without its brackets.
    package let host: String
    /// TCP port.
    package let port: Int

    /// Reads `host` or `host:port`, an IPv6 address in brackets (RFC 3986 §3.2.2); `nil`: it is neither.
    package init?(_ text: String) {
        let host: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
            guard host.contains(":"), host.utf8.allSatisfy(\.isOfIPv6) else { return nil }
        } else {
            host = Substring(text.utf8.prefix { $0 != UInt8(ascii: ":") })
            rest = text[host.endIndex...]
            guard host.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") || $0.isAlphanumeric })
            else { return nil }
        }
        guard !host.isEmpty, rest.isEmpty || rest.hasPrefix(":") else { return nil }
        self.host = host.lowercased()
        guard !rest.isEmpty else {
            port = 443
            return
        }
        guard let port = Int(rest.dropFirst()), (1...65_535).contains(port) else { return nil }
        self.port = port
    }

    /// The service of an endpoint; `nil` only for what is no subscription's endpoint.
    package init?(endpoint: String) {
        let authority = endpoint.utf8[..<(Self.end(in: endpoint) ?? endpoint.endIndex)].dropFirst(Self.scheme.count)
        self.init(String(Substring(authority)))
    }

    private static let scheme = "https://".utf8

    /// Where host and port of an endpoint end; `nil`: with the endpoint. By bytes: it is asked for each push.
    static func end(in endpoint: String) -> String.Index? {
        endpoint.utf8.dropFirst(scheme.count).firstIndex {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
    }

    /// The origin, as `aud` of a token has it (RFC 6454 §6.2).
    package var origin: String { "https://" + description }

    /// `host`, or `host:port` where the port is another than 443.
    package var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    /// Whether it is one of the services of the browsers that there are (webpush.md §6). An endpoint comes from a client:
    /// nothing is sent to any other host, unless the project names it.
    package var isPublic: Bool {
        port == 443 && (Self.hosts.contains(host) || Self.suffixes.contains { host.hasSuffix($0) })
    }

    private static let hosts: Set<String> = ["fcm.googleapis.com", "jmt17.google.com", "push.services.mozilla.com"]
    private static let suffixes = [".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com"]
}

extension UInt8 {
    /// What an IPv6 address is written with; one in it of IPv4 has dots.
    fileprivate var isOfIPv6: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}
