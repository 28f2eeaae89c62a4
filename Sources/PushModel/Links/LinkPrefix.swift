/// What the links of a project begin with, Dynamic Links' `domainUriPrefix`: scheme and host, with or without a path. It
/// belongs to one project.
///
/// A request is for the prefix whose host is its Host, whatever the scheme and the port: a proxy may end TLS before the
/// gateway.
package struct LinkPrefix: Hashable, Sendable {
    /// `https`, or for a host of this machine `http`.
    package let scheme: String
    /// The host in lower case ASCII, an internationalised one in Punycode; without a port.
    package let host: String
    /// The port as written; `nil`: the scheme's.
    package let port: Int?
    /// The path with a slash before and none behind, as `/promo`; empty: the whole host.
    package let path: String

    /// What ``init(rawValue:)`` takes, for the texts of errors.
    package static let expectation = "https://HOST or https://HOST/PATH; http:// only for localhost and its sub-domains"

    /// Puts a prefix together; the parts have to be valid.
    package init(scheme: String = "https", host: String, port: Int? = nil, path: String = "") {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// Reads a prefix: ASCII, no user, query or fragment, segments of `[A-Za-z0-9_-]`; slashes at the end are dropped.
    package init?(rawValue: String) {
        var rest = rawValue[...]
        guard let colon = rest.firstRange(of: "://") else { return nil }
        let scheme = rest[..<colon.lowerBound].lowercased()
        rest = rest[colon.upperBound...]
        while rest.last == "/" { rest.removeLast() }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let path = String(rest[slash...])
        guard let (host, port) = Self.hostAndPort(rest[..<slash]),
            scheme == "https" || scheme == "http" && Self.isLocal(host),
            path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().allSatisfy(Self.isSegment)
        else { return nil }
        self.init(scheme: scheme, host: host, port: port, path: path)
    }

    private static func hostAndPort(_ text: Substring) -> (host: String, port: Int?)? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = HostName(rawValue: String(parts[0])) else { return nil }
        guard parts.count == 2 else { return (host.rawValue, nil) }
        guard let port = Int(parts[1]), (1...65535).contains(port) else { return nil }
        return (host.rawValue, port)
    }

    private static func isLocal(_ host: String) -> Bool { host == "localhost" || host.hasSuffix(".localhost") }

    private static func isSegment(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { HostName.isLetterOrDigit($0) || $0 == 0x2d || $0 == 0x5f }
    }

    /// Host and path, as `go.example.com/promo`: what tells prefixes apart, and the key of their links in the store.
    package var name: String { host + path }

    /// The prefix with its scheme, as `https://go.example.com/promo`.
    package var url: String { scheme + "://" + host + (port.map { ":\($0)" } ?? "") + path }

    /// Whether a path of this host is below the prefix or the prefix itself, `/promo` and `/promo/x` but not `/promotion`.
    package func covers(path: String) -> Bool {
        guard path.hasPrefix(self.path) else { return false }
        let rest = path.dropFirst(self.path.count)
        return rest.isEmpty || rest.first == "/"
    }
}

/// A host's name in lower case ASCII: labels of letters, digits and hyphens, or a numeric IPv4 address. No port.
package struct HostName: Hashable, Sendable {
    /// The name.
    package let rawValue: String

    /// Reads a name, upper case too: 1 to 253 characters, labels of 1 to 63 that begin and end with a letter or digit.
    package init?(rawValue: String) {
        let name = rawValue.lowercased()
        guard (1...253).contains(name.utf8.count),
            name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(Self.isLabel)
        else { return nil }
        self.rawValue = name
    }

    private static func isLabel(_ label: Substring) -> Bool {
        guard (1...63).contains(label.utf8.count), label.first != "-", label.last != "-" else { return false }
        return label.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 0x2d }
    }

    /// Whether a byte is an ASCII letter or digit.
    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }
}
