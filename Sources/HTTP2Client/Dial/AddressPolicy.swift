/// Which addresses a pool dials. It is applied to each address that is about to be dialed, not to the name: one that leads
/// elsewhere a moment later (DNS rebinding) gains nothing.
package enum AddressPolicy: Hashable, Sendable, CaseIterable {
    /// All.
    case any
    /// Those of the public Internet: for peers that others name, who must not reach what only this machine can.
    case publicOnly

    /// Whether an address may be dialed.
    func allows(_ address: SocketAddress) -> Bool {
        switch self {
        case .any: true
        case .publicOnly: Self.isPublic(address.ip)
        }
    }

    /// Whether an address of 4 or 16 bytes is one that the Internet routes (IANA's registries of special-purpose
    /// addresses, RFC 6890).
    static func isPublic(_ ip: [UInt8]) -> Bool {
        switch ip.count {
        case 4: !specialIPv4.contains { $0.contains(ip) }
        case 16:
            if translated.contains(ip) {
                isPublic(Array(ip.suffix(4)))
            } else {
                // All that is routed; loopback, link-local, unique local, multicast and mapped addresses are outside.
                unicast.contains(ip) && !specialIPv6.contains { $0.contains(ip) }
            }
        default: false
        }
    }

    /// Addresses that begin with the same bits.
    private struct Block {
        let address: [UInt8]
        let bits: Int

        func contains(_ ip: [UInt8]) -> Bool {
            guard ip.count == address.count else { return false }
            let whole = bits / 8
            guard ip.prefix(whole).elementsEqual(address.prefix(whole)) else { return false }
            let rest = bits % 8
            guard rest > 0 else { return true }
            return ip[whole] >> (8 - rest) == address[whole] >> (8 - rest)
        }
    }

    private static func block(_ bytes: UInt8..., bits: Int) -> Block { Block(address: bytes, bits: bits) }

    private static func block6(_ bytes: UInt8..., bits: Int) -> Block {
        Block(address: bytes + [UInt8](repeating: 0, count: 16 - bytes.count), bits: bits)
    }

    private static let specialIPv4 = [
        // This network, private, shared (carriers), loopback, link-local (cloud metadata), private.
        block(0, 0, 0, 0, bits: 8), block(10, 0, 0, 0, bits: 8), block(100, 64, 0, 0, bits: 10),
        block(127, 0, 0, 0, bits: 8), block(169, 254, 0, 0, bits: 16), block(172, 16, 0, 0, bits: 12),
        // Protocol assignments, documentation, 6to4 relays, private, benchmarks, documentation.
        block(192, 0, 0, 0, bits: 24), block(192, 0, 2, 0, bits: 24), block(192, 88, 99, 0, bits: 24),
        block(192, 168, 0, 0, bits: 16), block(198, 18, 0, 0, bits: 15), block(198, 51, 100, 0, bits: 24),
        block(203, 0, 113, 0, bits: 24),
        // Multicast; reserved and broadcast.
        block(224, 0, 0, 0, bits: 4), block(240, 0, 0, 0, bits: 4),
    ]
    /// What is assigned for the Internet (RFC 4291 §2.4).
    private static let unicast = block6(0x20, bits: 3)
    /// IPv4 behind a translator (RFC 6052): as public as the address in it.
    private static let translated = block6(0x00, 0x64, 0xff, 0x9b, bits: 96)
    private static let specialIPv6 = [
        // Protocol assignments with Teredo, documentation, 6to4, documentation.
        block6(0x20, 0x01, bits: 23), block6(0x20, 0x01, 0x0d, 0xb8, bits: 32), block6(0x20, 0x02, bits: 16),
        block6(0x3f, 0xff, bits: 20),
    ]
}
