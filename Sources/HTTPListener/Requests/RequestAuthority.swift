/// The host of a request with or without a port, as `Host` and `:authority` have it (RFC 9110 §7.2).
enum RequestAuthority {
    /// Whether a text is a name as DNS has it, an IPv4 address or an IPv6 address in brackets, and at most a port behind.
    ///
    /// RFC 3986 allows more in a host, of which what stands in front may make another one: percent-encoding, a user, empty
    /// labels. Empty is the `Host` of a target without an authority (RFC 9112 §3.2).
    static func isSound(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first else { return true }
        guard let end = first == UInt8(ascii: "[") ? endOfAddress(bytes) : endOfName(bytes) else { return false }
        return isPort(bytes[end...])
    }

    /// Where a name of labels ends, which may have the dot of the root; `nil`: there is none.
    private static func endOfName<Bytes: Collection<UInt8>>(_ bytes: Bytes) -> Bytes.Index? {
        var isInLabel = false
        var index = bytes.startIndex
        while index < bytes.endIndex, bytes[index] != UInt8(ascii: ":") {
            if bytes[index] == UInt8(ascii: ".") {
                guard isInLabel else { return nil }
                isInLabel = false
            } else {
                guard isOfLabel(bytes[index]) else { return nil }
                isInLabel = true
            }
            index = bytes.index(after: index)
        }
        return index > bytes.startIndex ? index : nil
    }

    /// Where an IPv6 address in brackets ends; `nil`: there is none.
    private static func endOfAddress<Bytes: Collection<UInt8>>(_ bytes: Bytes) -> Bytes.Index? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
        let address = bytes[..<end].dropFirst()
        guard address.contains(UInt8(ascii: ":")), address.allSatisfy(isOfAddress) else { return nil }
        return bytes.index(after: end)
    }

    /// Nothing, or a colon and at most five digits.
    private static func isPort(_ bytes: some Collection<UInt8>) -> Bool {
        guard let colon = bytes.first else { return true }
        return colon == UInt8(ascii: ":") && bytes.count <= 6 && bytes.dropFirst().allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isOfLabel(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte) || byte == UInt8(ascii: ":")
            || byte == UInt8(ascii: ".")
    }
}
