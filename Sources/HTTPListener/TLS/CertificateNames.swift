import NIOSSL

/// The host names that a certificate is for: the DNS names of its subjectAltName (RFC 6125 §6.4.4).
struct CertificateNames: Hashable, Sendable {
    private let exact: Set<String>
    /// What stands behind `*.`.
    private let parents: Set<String>

    /// Takes names as certificates write them: `*.` before one stands for one more label.
    init(_ names: [String]) {
        let names = names.map { $0.lowercased() }
        exact = Set(names.filter { !$0.hasPrefix("*.") })
        parents = Set(names.filter { $0.hasPrefix("*.") }.map { String($0.dropFirst(2)) })
    }

    /// Reads the names of a certificate.
    init(of certificate: NIOSSLCertificate) {
        self.init(
            certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }.map {
                String(decoding: $0.contents, as: UTF8.self)
            })
    }

    /// Whether a host is one of them.
    func contain(_ host: String) -> Bool {
        let host = host.lowercased()
        if exact.contains(host) { return true }
        guard let dot = host.firstIndex(of: ".") else { return false }
        return parents.contains(String(host[host.index(after: dot)...]))
    }
}
