package import IPAddresses

/// Looks names up for those who connect themselves.
package enum NameLookup {
    /// The addresses of a name, each once, asked anew in the order in which the system prefers them. Blocks.
    package static func addresses(of host: String) -> Result<[IPAddress], TransportFailure> {
        SocketAddress.resolve(host: host, port: 443, isLiteral: false).map { found in
            var seen: Set<IPAddress> = []
            return found.compactMap { IPAddress(bytes: $0.ip) }.filter { seen.insert($0).inserted }
        }
    }
}
