/// Addresses that begin with the same bits.
package struct IPNetwork: Hashable, Sendable {
    /// An address of it.
    package let address: IPAddress
    /// How many bits are the same.
    package let bits: Int

    /// Takes an address and a number of bits that it has.
    package init?(_ address: IPAddress, bits: Int) {
        guard (0...address.bytes.count * 8).contains(bits) else { return nil }
        self.address = address
        self.bits = bits
    }

    /// Reads `10.0.0.0/8`, `fd00::/8`, or an address alone.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        guard parts.count == 2 else {
            self.init(address, bits: address.bytes.count * 8)
            return
        }
        guard parts[1].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let bits = Int(parts[1]) else {
            return nil
        }
        self.init(address, bits: bits)
    }

    /// Whether an address is of it.
    package func contains(_ other: IPAddress) -> Bool {
        let (network, bytes) = (address.bytes, other.bytes)
        guard bytes.count == network.count else { return false }
        let whole = bits / 8
        guard bytes.prefix(whole).elementsEqual(network.prefix(whole)) else { return false }
        let rest = bits % 8
        return rest == 0 || bytes[whole] >> (8 - rest) == network[whole] >> (8 - rest)
    }
}

extension IPNetwork: CustomStringConvertible {
    /// As `10.0.0.0/8`.
    package var description: String { "\(address)/\(bits)" }
}
