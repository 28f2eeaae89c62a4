extension IPAddress {
    /// Whether the address is one that the Internet routes (IANA's registries of special-purpose addresses, RFC 6890).
    package var isOfInternet: Bool {
        guard bytes.count == 16 else { return !Self.specialIPv4.contains { $0.contains(self) } }
        if Self.translated.contains(self) { return IPAddress(bytes: bytes.suffix(4))?.isOfInternet ?? false }
        // All that is routed; loopback, link-local, unique local, multicast and mapped addresses are outside.
        return Self.unicast.contains(self) && !Self.specialIPv6.contains { $0.contains(self) }
    }

    private static func networks(_ texts: String...) -> [IPNetwork] { texts.compactMap { IPNetwork($0) } }

    private static let specialIPv4 = networks(
        // This network, private, shared (carriers), loopback, link-local (cloud metadata), private.
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        // Protocol assignments, documentation, 6to4 relays, private, benchmarks, documentation.
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
        "203.0.113.0/24",
        // Multicast; reserved and broadcast.
        "224.0.0.0/4", "240.0.0.0/4")
    /// What is assigned for the Internet (RFC 4291 §2.4).
    private static let unicast = IPNetwork(IPAddress(bytes: [0x20] + [UInt8](repeating: 0, count: 15))!, bits: 3)!
    /// IPv4 behind a translator (RFC 6052): as public as the address in it.
    private static let translated = IPNetwork(
        IPAddress(bytes: [0x00, 0x64, 0xff, 0x9b] + [UInt8](repeating: 0, count: 12))!, bits: 96)!
    private static let specialIPv6 = networks(
        // Protocol assignments with Teredo, documentation, 6to4, documentation.
        "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
}
