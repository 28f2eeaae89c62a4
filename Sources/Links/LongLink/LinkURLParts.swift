/// The parts of a URL that is given as a link.
struct LinkURLParts {
    /// In lower case, without the port.
    let host: String
    /// With a slash in front, or empty.
    let path: String
    /// Without the question mark; empty when there is none.
    let query: String
    /// Without the `#`; `nil`: there is none.
    let fragment: String?

    /// Parts a URL. A long link is often written by hand, so the query may have anything but control characters.
    init(_ url: String) throws(LinkProblem) {
        guard !url.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw Self.problem("has control characters")
        }
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")),
            ["https", "http"].contains(url[..<colon].lowercased()), url.utf8[colon...].starts(with: "://".utf8)
        else { throw Self.problem("is no https:// URL") }
        var rest = Substring(url.utf8[colon...].dropFirst("://".utf8.count))
        fragment = Self.cut(&rest, at: UInt8(ascii: "#")).map(String.init)
        query = String(Self.cut(&rest, at: UInt8(ascii: "?")) ?? "")
        let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        path = String(rest[slash...])
        var authority = rest[..<slash]
        let port = Self.cut(&authority, at: UInt8(ascii: ":"))
        guard !authority.isEmpty, authority.utf8.allSatisfy({ PercentEncoding.isUnreserved($0) }),
            port?.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ?? true
        else { throw Self.problem("has no host, or more than a host and a port before its path") }
        host = authority.lowercased()
    }

    /// Cuts off the first `separator` and what follows, and returns the latter. By bytes: a combining mark behind a
    /// separator makes another character of it.
    private static func cut(_ text: inout Substring, at separator: UInt8) -> Substring? {
        guard let index = text.utf8.firstIndex(of: separator) else { return nil }
        defer { text = text[..<index] }
        return text[text.utf8.index(after: index)...]
    }

    /// A problem of the URL itself.
    static func problem(_ message: String) -> LinkProblem {
        LinkProblem(field: "longDynamicLink", message: message)
    }
}
