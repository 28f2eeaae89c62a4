/// An IPv4 or IPv6 address.
package struct IPAddress: Hashable, Sendable {
    /// 4 or 16 bytes, in the order of the network.
    package let bytes: [UInt8]

    /// Takes 4 or 16 bytes.
    package init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads the usual texts alone: four decimal numbers without zeros in front, or IPv6 without a zone (RFC 4291 §2.2).
    /// The other forms that some resolvers take (`0x7f.1`, `2130706433`, `017700000001`) are none.
    package init?(_ text: some StringProtocol) {
        guard let bytes = text.utf8.contains(UInt8(ascii: ":")) ? Self.sixteen(String(text)) : Self.four(text) else {
            return nil
        }
        self.bytes = bytes
    }

    /// Of an IPv4 address in IPv6's form (`::ffff:0:0/96`) the IPv4 address, of others the address itself.
    package var unmapped: IPAddress {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
        guard bytes.count == 16, bytes.starts(with: prefix) else { return self }
        return IPAddress(bytes: bytes.suffix(4)) ?? self
    }

    private static func four(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard part.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                part.utf8.count == 1 || part.utf8.first != UInt8(ascii: "0"), let byte = UInt8(part)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func sixteen(_ text: String) -> [UInt8]? {
        guard let gap = text.range(of: "::") else {
            guard let bytes = groups(text, isLast: true), bytes.count == 16 else { return nil }
            return bytes
        }
        let (head, tail) = (text[..<gap.lowerBound], text[gap.upperBound...])
        guard !tail.contains("::"), !tail.hasPrefix(":"), let front = groups(head, isLast: false),
            let back = groups(tail, isLast: true), front.count + back.count <= 14
        else { return nil }
        return front + [UInt8](repeating: 0, count: 16 - front.count - back.count) + back
    }

    /// Groups of four hex digits; the last may be an IPv4 address.
    private static func groups(_ text: some StringProtocol, isLast: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if isLast, index == parts.count - 1, part.contains(".") {
                guard let address = four(part) else { return nil }
                return bytes + address
            }
            guard (1...4).contains(part.utf8.count), part.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                let group = UInt16(part, radix: 16)
            else { return nil }
            bytes += [UInt8(group >> 8), UInt8(group & 0xff)]
        }
        return bytes
    }
}

extension IPAddress: CustomStringConvertible {
    /// The usual text; of IPv6 with all eight groups.
    package var description: String {
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2)
            .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }.joined(separator: ":")
    }
}

extension String {
    /// Where a part stands; the standard library alone has no such search on every platform.
    fileprivate func range(of part: String) -> Range<String.Index>? { ranges(of: part).first }
}
