/// How a browser is reached: what `PushManager.subscribe` gave the page (RFC 8030, RFC 8291). The endpoint is a
/// secret: it never goes into a log.
package struct WebSubscription: Hashable, Sendable {
    /// The longest endpoint in bytes.
    package static let endpointLimit = 2048

    /// The URL of the push service, `https`.
    package let endpoint: String
    /// The browser's P-256 key, uncompressed: 65 bytes.
    package let key: [UInt8]
    /// The secret of the encryption: 16 bytes.
    package let secret: [UInt8]
    /// The VAPID key that the page subscribed with, uncompressed: 65 bytes; `nil`: it did not say.
    package let applicationKey: [UInt8]?

    /// Takes the parts; `nil` when one has the wrong length, or the endpoint is no `https` URL with a host.
    package init?(endpoint: String, key: [UInt8], secret: [UInt8], applicationKey: [UInt8]?) {
        guard endpoint.utf8.count <= Self.endpointLimit, Self.host(of: endpoint) != nil, key.count == 65,
            secret.count == 16, applicationKey.map({ $0.count == 65 }) ?? true
        else { return nil }
        self.endpoint = endpoint
        self.key = key
        self.secret = secret
        self.applicationKey = applicationKey
    }

    /// Where host and port end; `nil`: with the endpoint.
    package var endOfAuthority: String.Index? { PushServiceName.end(in: endpoint) }

    /// The URL of the push service: the endpoint with the first character of its path, and no more; `nil`: it has no path.
    package var serviceURL: String? {
        guard let end = endOfAuthority, endpoint.utf8[end] == UInt8(ascii: "/") else { return nil }
        return String(endpoint[...end])
    }

    /// The host of the push service, which is no secret.
    package var host: String { Self.host(of: endpoint) ?? "" }

    /// The host of an `https` URL of printable ASCII without user and password; `nil` for any other text.
    private static func host(of url: String) -> String? {
        let prefix = "https://"
        guard url.utf8.count > prefix.utf8.count, url.prefix(prefix.count).lowercased() == prefix,
            url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        return PushServiceName(endpoint: url)?.host
    }
}
