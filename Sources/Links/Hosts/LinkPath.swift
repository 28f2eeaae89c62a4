/// What a path behind a prefix names.
enum LinkPath: Hashable {
    /// No link has this path.
    case none
    /// A link to follow.
    case link(Name)
    /// The QR code of a short link.
    case picture(String)

    /// What a link is named by.
    enum Name: Hashable {
        /// A short link's suffix.
        case short(String)
        /// An invitation's name.
        case invitation(String)
        /// The query: a long link.
        case long
    }

    /// Reads what stands behind the prefix: nothing or a slash, `/<suffix>`, `/<suffix>/qr` or `/i/<id>`.
    init(_ rest: Substring) {
        let slash = UInt8(ascii: "/")
        var bytes = rest.utf8
        if bytes.first == slash { bytes.removeFirst() }
        if bytes.last == slash { bytes.removeLast() }
        guard !bytes.isEmpty else {
            self = .link(.long)
            return
        }
        // What nearly every request has: a suffix as it is.
        if LinkSuffix.isSegment(Substring(bytes)) {
            self = .link(.short(String(Substring(bytes))))
            return
        }
        let parts = bytes.split(separator: slash, maxSplits: 2, omittingEmptySubsequences: false)
            .map { PercentEncoding.decode(String(Substring($0))) }
        guard parts.allSatisfy({ LinkSuffix.isSegment($0[...]) }) else {
            self = .none
            return
        }
        switch (parts.count, parts[0]) {
        case (1, let suffix): self = .link(.short(suffix))
        case (2, "i"): self = .link(.invitation(parts[1]))
        case (2, let suffix) where parts[1] == "qr": self = .picture(suffix)
        default: self = .none
        }
    }
}
