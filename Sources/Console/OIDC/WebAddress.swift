import Foundation

/// What matters here of a URL: with whom one speaks, and whether others can listen.
struct WebAddress: Hashable, Sendable {
    /// `http` or `https`.
    let scheme: String
    /// The host's name or address, in lower case.
    let host: String
    /// The port.
    let port: Int

    /// Reads a URL with a host and without user; `nil`: it is none.
    init?(_ text: String) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = url.host()?.lowercased(), !host.isEmpty, url.user() == nil,
            text.unicodeScalars.allSatisfy({ $0.value > 32 && $0.value < 127 })
        else { return nil }
        self.scheme = scheme
        self.host = host
        port = url.port ?? (scheme == "https" ? 443 : 80)
    }

    /// Whether no other machine sees what is sent: TLS, or this machine itself.
    var isProtected: Bool { scheme == "https" || isLoopback }

    private var isLoopback: Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return ["localhost", "::1", "[::1]"].contains(host)
            || parts.count == 4 && parts.first == 127 && !parts.contains(nil)
    }
}
