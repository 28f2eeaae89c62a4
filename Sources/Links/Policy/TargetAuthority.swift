/// Host and port of a target.
struct TargetAuthority {
    /// The host in lower case ASCII.
    let host: String
    /// The port; `nil`: the one that the scheme has anyway.
    let port: Int?

    /// Reads what stands between `//` and the path.
    init(_ bytes: ArraySlice<UInt8>, isSecure: Bool) throws(TargetURL.Flaw) {
        guard !bytes.contains(UInt8(ascii: "@")) else { throw .malformed("has a user in front of its host") }
        var name = bytes
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")) {
            name = bytes[..<colon]
            port = try Self.port(bytes[(colon + 1)...], isSecure: isSecure)
        } else {
            port = nil
        }
        guard let host = name.contains(where: { $0 >= 0x80 }) ? Self.internationalHost(name) : Self.host(name) else {
            throw .malformed("has no valid host")
        }
        self.host = host
    }

    private static func port(_ bytes: ArraySlice<UInt8>, isSecure: Bool) throws(TargetURL.Flaw) -> Int? {
        guard !bytes.isEmpty else { return nil }
        guard bytes.count <= 5, bytes.allSatisfy({ isDigit($0) }),
            let port = Int(String(decoding: bytes, as: UTF8.self)), (1...65_535).contains(port)
        else { throw .malformed("has a bad port") }
        return port == (isSecure ? 443 : 80) ? nil : port
    }

    private static func internationalHost(_ bytes: ArraySlice<UInt8>) -> String? {
        InternationalHost.ascii(String(decoding: bytes, as: UTF8.self)).flatMap { host(Array($0.utf8)[...]) }
    }

    /// The rules of ``PushModel/HostName`` in one pass over the bytes: each redirect reads some hosts.
    private static func host(_ bytes: ArraySlice<UInt8>) -> String? {
        guard (1...253).contains(bytes.count) else { return nil }
        var name: [UInt8] = []
        name.reserveCapacity(bytes.count)
        var label = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "."):
                guard isLabel(name[label...]) else { return nil }
                label = name.count + 1
                name.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): name.append(byte | 0x20)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                name.append(byte)
            default: return nil
            }
        }
        guard isLabel(name[label...]), !isDigit(name[label]) || isNameOrAddress(name, last: name[label...]) else {
            return nil
        }
        return String(decoding: name, as: UTF8.self)
    }

    private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
        (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
    }

    /// Browsers read a host whose last label is a number as an IPv4 address, in octal and hexadecimal too (WHATWG URL
    /// §3.5): only the usual spelling is taken, so that what is compared is what is opened.
    private static func isNameOrAddress(_ host: [UInt8], last: ArraySlice<UInt8>) -> Bool {
        guard last.allSatisfy({ isDigit($0) }) || last.starts(with: "0x".utf8) else { return true }
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count == 4
            && labels.allSatisfy { label in
                let text = String(decoding: label, as: UTF8.self)
                return UInt8(text).map { String($0) == text } ?? false
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
