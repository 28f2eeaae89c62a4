import Foundation
import Upstream

/// Reads the URL of a proxy: `http://host:port`, with `user:password@` where that is allowed.
struct ProxyURL {
    /// The proxy.
    let proxy: UpstreamProxy

    /// Why a text names no proxy; never holds the text, which may hold a password.
    struct Problem: Error {
        let text: String
    }

    init(_ text: String) throws(Problem) {
        var rest = text[...]
        if let scheme = text.range(of: "://") {
            guard text[..<scheme.lowerBound].lowercased() == "http" else {
                throw Problem(text: "must begin with http://, which is how the proxy is spoken to; TLS goes through it")
            }
            rest = rest[scheme.upperBound...]
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var credentials: UpstreamProxy.Credentials?
        if let at = rest.lastIndex(of: "@") {
            credentials = try Self.credentials(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        // RFC 9110 §4.2.1: 80 when no port is given.
        guard let place = UpstreamEndpoint(text: String(rest)) ?? UpstreamEndpoint(text: rest + ":80"),
            place.host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !place.host.contains("@")
        else { throw Problem(text: "is not a proxy; write it like http://proxy.example.com:3128") }
        proxy = UpstreamProxy(host: place.host, port: place.port, credentials: credentials)
    }

    /// `user:password`, percent-encoded as URLs want it.
    private static func credentials(_ text: Substring) throws(Problem) -> UpstreamProxy.Credentials {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = parts[0].removingPercentEncoding,
            let password = parts.count > 1 ? parts[1].removingPercentEncoding : "",
            let credentials = UpstreamProxy.Credentials(checked: user, password)
        else { throw Problem(text: "has a user or password that no proxy can take (colon or control characters)") }
        return credentials
    }
}

extension UpstreamProxy.Credentials {
    /// RFC 7617 §2: no colon in the user, control characters in neither.
    init?(checked user: String, _ password: String) {
        guard !user.isEmpty, !user.contains(":"),
            !(user + password).unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { return nil }
        self.init(user: user, password: password)
    }
}
