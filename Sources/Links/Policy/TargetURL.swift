/// A URL that a link may lead to, normalised: `http` or `https`, a host in ASCII, no user, nothing that could end a header
/// or be read differently by a browser. Whether a project allows it is ``LinkPolicy``'s matter.
package struct TargetURL: Hashable, Sendable {
    /// The URL, all printable ASCII: safe as a `Location`.
    package let text: String
    /// The host in lower case ASCII, an internationalised one in Punycode; without a port.
    package let host: String
    /// `http` or `https`.
    package let scheme: String
    /// Bytes of ``text`` before the path, which has at least a slash.
    let pathOffset: Int

    /// Why a text is no target.
    package enum Flaw: Hashable, Sendable {
        /// It is a URL of another scheme, as `javascript:`.
        case scheme
        /// It is no URL that can be used; the sentence says why.
        case malformed(String)
    }

    /// Reads a URL.
    ///
    /// - Throws: The problem of `link`; ``read(_:)`` tells it without one.
    package init(_ text: String) throws(LinkProblem) {
        try self.init(text, of: .link)
    }

    /// Reads the URL of a parameter.
    package init(_ text: String, of parameter: LinkParameter) throws(LinkProblem) {
        switch Self.read(text) {
        case .success(let url): self = url
        case .failure(let flaw): throw LinkProblem(parameter, message: flaw.message)
        }
    }

    /// Reads a URL: with a scheme and a host, at most ``LinkLimits/targetBytes``. What is no ASCII is percent-encoded, an
    /// internationalised host becomes Punycode, the scheme's own port is dropped, `.` and `..` are resolved.
    package static func read(_ text: String) -> Result<TargetURL, Flaw> {
        do {
            return .success(try TargetURL(reading: Array(text.utf8)))
        } catch {
            return .failure(error)
        }
    }

    /// The same URL with another ending: what is appended is normalised and ends no path.
    private init(_ url: TargetURL, text: String) {
        self.text = text
        host = url.host
        scheme = url.scheme
        pathOffset = url.pathOffset
    }

    private init(reading bytes: [UInt8]) throws(Flaw) {
        guard bytes.count <= LinkLimits.targetBytes else {
            throw .malformed("has more than \(LinkLimits.targetBytes) bytes")
        }
        for byte in bytes {
            switch byte {
            case ..<0x20, 0x7f: throw .malformed("has control characters")
            case UInt8(ascii: " "), UInt8(ascii: "\\"): throw .malformed("has a space or a backslash: encode it")
            default: break
            }
        }
        let isSecure = try Self.isSecure(bytes)
        let start = isSecure ? 8 : 7
        let end = bytes[start...].firstIndex { Self.endsAuthority($0) } ?? bytes.endIndex
        let authority = try TargetAuthority(bytes[start..<end], isSecure: isSecure)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + 8)
        output.append(contentsOf: (isSecure ? "https://" : "http://").utf8)
        output.append(contentsOf: authority.host.utf8)
        if let port = authority.port { output.append(contentsOf: ":\(port)".utf8) }
        pathOffset = output.count
        TargetPath.append(bytes[end...], to: &output)
        text = String(decoding: output, as: UTF8.self)
        host = authority.host
        scheme = isSecure ? "https" : "http"
    }

    /// Whether the scheme is `https` and not `http`; two slashes follow it.
    private static func isSecure(_ bytes: [UInt8]) throws(Flaw) -> Bool {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            bytes[..<colon].allSatisfy({ isSchemeByte($0) })
        else { throw .malformed("has no scheme: it begins with https://") }
        let letters = bytes[..<colon].lazy.map { $0 | 0x20 }
        let isSecure = letters.elementsEqual("https".utf8)
        guard isSecure || letters.elementsEqual("http".utf8) else { throw .scheme }
        guard bytes[(colon + 1)...].starts(with: "//".utf8) else {
            throw .malformed("has no '//' behind its scheme")
        }
        return isSecure
    }

    /// RFC 3986 §3.1, but for the first byte.
    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "+") || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "_") && byte != 0x7e
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    /// The path with a slash in front, without query and fragment; still percent-encoded.
    package var path: Substring {
        let rest = text.utf8.dropFirst(pathOffset)
        return text[
            rest.startIndex..<(rest.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? rest.endIndex)]
    }

    /// Whether it has `utm` parameters in its query: then it says itself of which campaign it is.
    package var hasCampaign: Bool {
        Self.hasCampaign(text[..<(text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex)])
    }

    /// The URL with more in its query, which is percent-encoded; `nil`: it has `utm` parameters already, or gets too long.
    func appending(query: String) -> TargetURL? {
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let head = text[..<end]
        guard !Self.hasCampaign(head), text.utf8.count + query.utf8.count < LinkLimits.targetBytes
        else { return nil }
        let separator = head.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return TargetURL(self, text: head + separator + query + text[end...])
    }

    /// Whether the name of a parameter of a URL without fragment begins with `utm_`.
    private static func hasCampaign(_ text: Substring) -> Bool {
        guard let query = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return false }
        // `&utm_`: the first name stands behind one too, as it were.
        var last = UInt64(UInt8(ascii: "&"))
        for byte in text.utf8[query...].dropFirst() {
            last = (last << 8 | UInt64(byte)) & 0xff_ffff_ffff
            if last == 0x26_7574_6d5f { return true }
        }
        return false
    }

    /// Whether it has a fragment.
    package var hasFragment: Bool { text.utf8.contains(UInt8(ascii: "#")) }
}

extension TargetURL.Flaw: Error {
    /// A sentence without a subject.
    package var message: String {
        switch self {
        case .scheme: "has another scheme than http and https"
        case .malformed(let message): message
        }
    }
}
