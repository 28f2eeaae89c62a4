package import HTTPTypes

/// An IP address, as far as it says who asks: of IPv6 the network of 64 bits, of which a single host has all addresses.
package struct ClientAddress: Hashable, Sendable, ExpressibleByStringLiteral {
    /// Two addresses with the same text are the same client.
    package let text: String

    /// Takes an address as sockets and proxies write it: also with a port, in brackets, or with a zone. What is none stands
    /// for itself.
    package init(_ text: String) {
        guard !Self.isIPv4(text) else {
            self.text = text
            return
        }
        let host = Self.host(text)
        guard let groups = Self.groups(host) else {
            self.text = host.lowercased()
            return
        }
        if groups.prefix(6) == [0, 0, 0, 0, 0, 0xffff] {
            // An IPv4 peer of a socket that listens on IPv6.
            self.text = groups.suffix(2).flatMap { [$0 >> 8, $0 & 0xff] }.map { String($0) }.joined(separator: ".")
        } else {
            self.text = groups.prefix(4).map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
        }
    }

    package init(stringLiteral text: String) {
        self.init(text)
    }

    /// Where a request comes from, as the outermost proxy of ours saw it: the peer without proxies, and for a request that
    /// came past them.
    ///
    /// - Parameter proxies: in front, each of which adds whom it asks for to `X-Forwarded-For`.
    package static func forwarded(_ headers: HTTPFields, peer: String?, proxies: Int) -> String? {
        guard proxies > 0 else { return peer }
        let hops = headers[values: .forwardedFor].flatMap { $0.split(separator: ",") }
        guard hops.count >= proxies else { return peer }
        var hop = hops[hops.count - proxies]
        while hop.first == " " || hop.first == "\t" { hop.removeFirst() }
        while hop.last == " " || hop.last == "\t" { hop.removeLast() }
        return String(hop)
    }

    /// An address as sockets and proxies write it, without port, brackets and zone; `nil`: it is none.
    package static func plain(_ text: String) -> String? {
        if isIPv4(text) { return text }
        let host = Self.host(text)
        let isAddress = groups(host) != nil || values(host[...])?.count == 2
        return isAddress && host.utf8.count <= 45 ? host.lowercased() : nil
    }

    /// Whether a text is an IPv4 address and nothing else: it stands for itself, and nearly every request asks.
    private static func isIPv4(_ text: String) -> Bool {
        var (groups, digits, value) = (1, 0, 0)
        for byte in text.utf8 {
            if byte == UInt8(ascii: ".") {
                guard digits > 0 else { return false }
                (groups, digits, value) = (groups + 1, 0, 0)
            } else {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return false }
                (digits, value) = (digits + 1, value * 10 + Int(byte - UInt8(ascii: "0")))
                guard digits <= 3, value <= 255 else { return false }
            }
        }
        return groups == 4 && digits > 0
    }

    /// The address without a port, brackets, and zone.
    private static func host(_ text: String) -> String {
        var host = text[...]
        if host.hasPrefix("[") {
            host = host.dropFirst().prefix { $0 != "]" }
        } else if let colon = host.firstIndex(of: ":"), host.lastIndex(of: ":") == colon {
            // One colon stands before a port, several are an IPv6 address.
            host = host[..<colon]
        }
        return String(host.prefix { $0 != "%" })
    }

    /// The eight groups of an IPv6 address (RFC 4291 §2.2); `nil`: it is none.
    private static func groups(_ text: String) -> [UInt16]? {
        guard text.contains(":") else { return nil }
        let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves.map { half in
            half.isEmpty ? [] : half.split(separator: ":", omittingEmptySubsequences: false)
        }
        var groups: [[UInt16]] = []
        for part in parts {
            var half: [UInt16] = []
            for group in part {
                guard let values = values(group) else { return nil }
                half += values
            }
            groups.append(half)
        }
        let count = groups.reduce(0) { $0 + $1.count }
        guard let first = groups.first, let last = groups.last else { return nil }
        guard groups.count == 2 else { return count == 8 ? first : nil }
        return count < 8 ? first + Array(repeating: 0, count: 8 - count) + last : nil
    }

    /// What a group stands for: itself, or two of them when it is an IPv4 address.
    private static func values(_ group: Substring) -> [UInt16]? {
        guard group.contains(".") else { return UInt16(group, radix: 16).map { [$0] } }
        let bytes = group.split(separator: ".", omittingEmptySubsequences: false)
            .compactMap { UInt8($0) }.map(UInt16.init)
        return bytes.count == 4 ? [bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]] : nil
    }
}

extension HTTPField.Name {
    /// `X-Forwarded-For`: whom a proxy asks for.
    package static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
